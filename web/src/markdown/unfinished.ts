/**
 * The end of a text that is still being written, made calm: what is begun and could turn into something else is held back or closed,
 * so that nothing jumps or flashes when the rest arrives. Everything before the last lines is left alone. Pure.
 */
import { MOST_LINES } from './mathRules'
import { closedInline } from './unfinishedInline'

/** Characters that are held back at most; what is longer is shown as it is. */
const MOST_HELD = 4_000

/** A line that holds only signs, and so may still become anything. */
const ONLY_SIGNS = /^[\s>#*+\-=:|_`~$\\[\]().\d]*$/
const BARE_TASK = /^[\s>]*(?:[-*+]|\d{1,9}[.)])\s+\[[ xX]\]\s*$/
const FENCE = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}|~{3,})/
const ROW = /^[\s>]*\||\s\|\s/

/** `tail` as it should be drawn now; the end of a live text, from the beginning of a block on. */
export function calmed(tail: string): string {
  const cut = tail.lastIndexOf('\n') + 1
  const head = tail.slice(0, cut)
  const last = tail.slice(cut)
  const { fence, formula } = open(head)
  if (fence) return last.trim() && isRunOf(last, fence) ? head : tail
  const signs = FENCE.test(last) || BARE_TASK.test(last) || (ONLY_SIGNS.test(last) && last.length < MOST_HELD)
  const known = signs ? head : tail
  const ends = open(known)
  const half = formula ?? ends.formula
  return half === null ? withoutHalf(known, ends.behind) : withoutHalf(known.slice(0, half), Math.min(ends.behind, half))
}

interface Open {
  /** The signs of the fence that is open at the end. */
  fence: string
  /** Where the formula begins that stands alone and is open at the end. */
  formula: number | null
  /** The place behind the last fence or formula that was closed. */
  behind: number
}

function open(lines: string): Open {
  let fence = ''
  let behind = 0
  for (let from = 0; from < lines.length; from = nextLine(lines, from)) {
    const line = lines.slice(from, nextLine(lines, from)).trimEnd()
    if (!fence) {
      const end = blockFormula(lines, from)
      if (end === 'open') return { fence, formula: from, behind }
      if (end !== null) {
        behind = end
        from = end - 1
        continue
      }
    }
    const run = FENCE.exec(line)?.[1]
    if (!run) continue
    if (!fence) fence = run[0] === '`' && line.slice(line.indexOf(run) + run.length).includes('`') ? '' : run
    else if (run[0] === fence[0] && run.length >= fence.length && line.endsWith(run)) {
      fence = ''
      behind = nextLine(lines, from)
    }
  }
  return { fence, formula: null, behind }
}

/** Where the formula ends that begins with the line at `from`: `null` when none does, `open` when its end may still come. */
function blockFormula(lines: string, from: number): number | 'open' | null {
  const close = { $$: '$$', '\\[': '\\]' }[/^ {0,3}(\$\$|\\\[)/.exec(lines.slice(from, from + 5))?.[1] ?? '']
  if (!close) return null
  let place = lines.indexOf(close[0] === '$' ? '$$' : '\\[', from) + 2
  for (let count = 0; count < MOST_LINES && place < lines.length; count += 1) {
    const end = nextLine(lines, place)
    const line = lines.slice(place, end)
    if (count > 0 && !line.trim()) return null
    const found = line.indexOf(close)
    if (found >= 0) return line.slice(found + 2).trim() ? null : end
    place = end
  }
  return place < lines.length ? null : 'open'
}

function nextLine(lines: string, from: number): number {
  const end = lines.indexOf('\n', from)
  return end < 0 ? lines.length : end + 1
}

function isRunOf(line: string, fence: string): boolean {
  return [...line.replace(/[\s>]/g, '')].every((sign) => sign === fence[0])
}

/** Without the head of a table that has no second line yet, and without a formula, link or emphasis that is half there. */
function withoutHalf(text: string, behind: number): string {
  const start = Math.max(lastParagraph(text), behind)
  const lines = text.slice(start).split('\n')
  const whole = lines.at(-1) === '' ? lines.slice(0, -1) : lines
  const rows = whole.length - 1 - whole.findLastIndex((line) => !ROW.test(line))
  if (rows === 1 && (whole.at(-1)?.length ?? 0) < MOST_HELD) return text.slice(0, text.lastIndexOf(whole.at(-1) ?? ''))
  const leaf = start + lastLeaf(text.slice(start))
  return text.slice(0, leaf) + closedInline(text.slice(leaf))
}

/** Where the last lines without an empty one between them begin; at the end when an empty one follows: they are finished. */
function lastParagraph(text: string): number {
  let end = text.endsWith('\n') ? text.length - 1 : text.length
  for (;;) {
    const start = text.lastIndexOf('\n', end - 1) + 1
    if (!text.slice(start, end).trim()) return Math.min(end + 1, text.length)
    if (start === 0) return 0
    end = start - 1
  }
}

/** Where the last item, heading or cell among lines begins: no emphasis reaches over that. */
function lastLeaf(lines: string): number {
  let leaf = 0
  for (const found of lines.matchAll(/^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+|#{1,6}[ \t]+|\|)/gm))
    leaf = found.index + found[0].length
  const cell = lines.lastIndexOf('|')
  return lines.slice(leaf).includes('\n') || cell < leaf ? leaf : cell + 1
}
