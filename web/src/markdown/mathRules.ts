/** Formulas in Markdown: `$...$`, `$$...$$`, `\(...\)` and `\[...\]`, told apart from prices. Knows delimiters, and nothing of TeX. */
import type { MarkdownIt, StateBlock, StateInline } from 'markdown-it'

/** Characters of a formula within a line. */
const LONGEST_INLINE = 2_000
/** Lines of one that stands alone. */
export const MOST_LINES = 200

const CLOSING: Record<string, string> = { $$: '$$', '\\[': '\\]', '\\(': '\\)' }
const CJK = /[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]/
const WORD = /(?<![\\A-Za-z])[A-Za-z]{2,}/
const WORDS = /(?<![\\A-Za-z])[A-Za-z]{2,}\s+[A-Za-z]{2,}/
/** What may hold words within a formula. */
const NAMED = /\\(?:text|textbf|textit|textrm|mathrm|mathit|mathbf|mathsf|operatorname|begin|end)\s*\{[^{}]*\}/g

export interface Formula {
  tex: string
  display: boolean
  /** Where the text goes on behind it. */
  end: number
}

/** The formula that begins at `start`, or `null`: a price, a name of a variable, an open one. */
export function formulaAt(text: string, start: number): Formula | null {
  const pair = text.slice(start, start + 2)
  const close = CLOSING[pair]
  if (close) return between(text, start + 2, close, pair !== '\\(')
  return text[start] === '$' ? inDollars(text, start) : null
}

/** Whether a `$` at `start` may begin a formula at all, going by its neighbours. */
export function mayOpen(text: string, start: number): boolean {
  return /\S/.test(text[start + 1] ?? '') && !/[\w$\\]/.test(text[start - 1] ?? '')
}

function between(text: string, from: number, close: string, display: boolean): Formula | null {
  const place = text.indexOf(close, from)
  const tex = text.slice(from, place)
  if (place < 0 || place - from > LONGEST_INLINE || !tex.trim() || /\n\s*\n/.test(tex)) return null
  return { tex: tex.trim(), display, end: place + close.length }
}

/** The next `$` decides, so that a text full of prices is read in one go. */
function inDollars(text: string, start: number): Formula | null {
  if (!mayOpen(text, start)) return null
  const place = closingDollar(text, start + 1)
  const tex = text.slice(start + 1, place)
  if (place < 0 || tex.length > LONGEST_INLINE || /\s$/.test(tex) || /\w/.test(text[place + 1] ?? '')) return null
  return isFormula(tex) ? { tex, display: false, end: place + 1 } : null
}

function closingDollar(text: string, from: number): number {
  let place = text.indexOf('$', from)
  while (place > 0 && text[place - 1] === '\\') place = text.indexOf('$', place + 1)
  return place
}

/** "5 to 10" between two signs of currency is none, nor is a piece of prose or of a shell's line. */
function isFormula(tex: string): boolean {
  const bare = tex.replace(NAMED, '')
  if (!tex.trim() || /`|\n\s*\n/.test(tex) || CJK.test(bare)) return false
  return /^[\d.,]/.test(tex) ? !WORD.test(bare) && !/[-–/,]$/.test(tex) : !WORDS.test(bare)
}

function inline(state: StateInline, silent: boolean): boolean {
  const formula = formulaAt(state.src.slice(0, state.posMax), state.pos)
  if (!formula) return false
  if (!silent) {
    const token = state.push('math', '', 0)
    token.content = formula.tex
    token.meta = { display: formula.display }
  }
  state.pos = formula.end
  return true
}

/** A formula that stands alone. It needs its end before the next empty line, so that no stray sign swallows a text. */
function block(state: StateBlock, first: number, end: number, silent: boolean): boolean {
  if ((state.sCount[first] ?? 0) - state.blkIndent >= 4) return false
  const line = (number: number) =>
    state.src.slice((state.bMarks[number] ?? 0) + (state.tShift[number] ?? 0), state.eMarks[number])
  const opened = line(first).slice(0, 2)
  const close = opened === '\\(' ? undefined : CLOSING[opened]
  if (!close) return false
  const lines: string[] = []
  for (let number = first; number < Math.min(end, first + MOST_LINES); number += 1) {
    const text = number === first ? line(first).slice(2) : line(number)
    if ((!text.trim() && number > first) || (state.sCount[number] ?? 0) < state.blkIndent) return false
    const place = text.indexOf(close)
    if (place >= 0 && text.slice(place + 2).trim()) return false
    lines.push(place >= 0 ? text.slice(0, place) : text)
    if (place < 0) continue
    const tex = lines.join('\n').trim()
    if (!tex) return false
    if (silent) return true
    const token = state.push('math', '', 0)
    token.block = true
    token.content = tex
    token.meta = { display: true }
    token.map = [first, number + 1]
    state.line = number + 1
    return true
  }
  return false
}

export function mathRules(markdown: MarkdownIt): void {
  markdown.inline.ruler.before('escape', 'math', inline)
  markdown.block.ruler.before('fence', 'math', block, { alt: ['paragraph', 'reference', 'blockquote', 'list'] })
}
