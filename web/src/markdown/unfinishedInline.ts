/** The end of one paragraph, item or cell that is still being written: half formulas, links and emphasis in it. Pure. */
import { formulaAt, mayOpen } from './mathRules'

/** Characters behind which something open counts as meant literally. */
const NEAR = 60
const FAR = 2_000

const URL_BEGUN = /^(?:h|ht|htt|https?(?::\/{0,2}|:\/\/\S*)?)$/

interface Opener {
  sign: string
  length: number
  from: number
}

/** What is found at one place: skip to a place, or hold everything from there on back. */
type Found = { skip: number } | { hold: true }

/** `text` without what is half there at its end, and with the emphasis closed that is open. */
export function closedInline(text: string): string {
  const open: Opener[] = []
  let place = 0
  let end = text.length
  while (place < end) {
    const sign = text[place] ?? ''
    if (sign === '*' || sign === '_' || sign === '~') {
      const length = runAt(text, place)
      if (emphasis(text, place, length, open)) place += length
      else end = place
      continue
    }
    if (sign === '`') {
      const code = codeAt(text, place)
      if (code.closed < 0) return closed(text.slice(0, place), open, code.shown)
      place = code.closed
      continue
    }
    const found = at(text, place)
    if ('hold' in found) end = place
    else place = found.skip
  }
  return closed(text.slice(0, end), open)
}

function at(text: string, place: number): Found {
  const rest = text.slice(place, place + FAR + 1)
  switch (text[place]) {
    case '\\':
      return escaped(text, place)
    case '$':
      return dollar(text, place, rest)
    case '!':
      return text[place + 1] === '[' ? bracket(text, place + 1, rest) : rest.length === 1 ? { hold: true } : { skip: place + 1 }
    case '[':
      return bracket(text, place, rest)
    case '<':
      return angle(place, rest)
    case '&':
      return /^&#?\w{0,31}$/.test(rest) ? { hold: true } : { skip: place + 1 }
    case 'h':
      return !/\w/.test(text[place - 1] ?? '') && URL_BEGUN.test(rest) ? { hold: true } : { skip: place + 1 }
    default:
      return { skip: place + 1 }
  }
}

function escaped(text: string, place: number): Found {
  const formula = formulaAt(text, place)
  if (formula) return { skip: formula.end }
  const next = text[place + 1]
  const half = next === undefined || ((next === '(' || next === '[') && text.length - place < FAR)
  return half ? { hold: true } : { skip: place + 2 }
}

function dollar(text: string, place: number, rest: string): Found {
  const formula = formulaAt(text, place)
  if (formula) return { skip: formula.end }
  if (text[place + 1] === '$') return rest.length <= FAR ? { hold: true } : { skip: place + 2 }
  const half = rest.length <= NEAR && !/[\n`]/.test(rest) && mayBecomeFormula(text, place, rest)
  return half || rest.length === 1 ? { hold: true } : { skip: place + 1 }
}

/** Not a price, not a variable of a shell among words. */
function mayBecomeFormula(text: string, place: number, rest: string): boolean {
  return (
    mayOpen(text, place) && !/^\$[\d.,]/.test(rest) && !rest.slice(1).includes('$') && !/[A-Za-z]{2,}\s+[A-Za-z]{2,}/.test(rest)
  )
}

function angle(place: number, rest: string): Found {
  const address = /^<[a-z][^\s>]*>/i.exec(rest)?.[0]
  if (address) return { skip: place + address.length }
  return rest.length <= FAR && /^<(?:[a-z][^\s>]*)?$/i.test(rest) ? { hold: true } : { skip: place + 1 }
}

function bracket(text: string, place: number, rest: string): Found {
  const label = balanced(text, place, '[', ']')
  if (label < 0) return rest.length <= 200 && !rest.includes('\n') ? { hold: true } : { skip: place + 1 }
  if (label === text.length) return { hold: true }
  if (text[label] !== '(') return { skip: place + 1 }
  const target = balanced(text, label, '(', ')')
  if (target >= 0) return { skip: target }
  return text.length - label <= FAR && !/\n/.test(text.slice(label)) ? { hold: true } : { skip: label }
}

/** The place behind the sign that closes the one at `place`, or -1. */
function balanced(text: string, place: number, open: string, close: string): number {
  let depth = 0
  for (let index = place; index < Math.min(text.length, place + FAR); index += 1) {
    if (text[index] === '\\') index += 1
    else if (text[index] === open) depth += 1
    else if (text[index] === close && (depth -= 1) === 0) return index + 1
  }
  return -1
}

/** Take a run of signs in; `false` when it stands at the end and is to be held back. */
function emphasis(text: string, place: number, length: number, open: Opener[]): boolean {
  const sign = text[place] ?? ''
  const before = text[place - 1] ?? ' '
  const after = text[place + length]
  const within = /[\p{L}\p{N}]/u.test(before) && after !== undefined && /[\p{L}\p{N}]/u.test(after)
  if ((sign === '~' && length !== 2 && after !== undefined) || (within && (sign === '_' || length === 1))) return true
  let left = length
  for (let last = open.at(-1); left > 0 && /\S/.test(before) && last?.sign === sign; last = open.at(-1)) {
    const taken = Math.min(left, last.length)
    left -= taken
    last.length -= taken
    if (last.length === 0) open.pop()
  }
  if (left > 0 && after === undefined) return false
  if (left > 0 && /\S/.test(after ?? ' ')) open.push({ sign, length: left, from: place + length - left })
  return true
}

function codeAt(text: string, place: number): { closed: number; shown: string } {
  const length = runAt(text, place)
  const ticks = '`'.repeat(length)
  for (let index = place + length; index < text.length; index += 1) {
    if (text[index] !== '`') continue
    const run = runAt(text, index)
    if (run === length) return { closed: index + run, shown: '' }
    index += run
  }
  const content = text.slice(place + length).replace(/[`\s]+$/, '')
  return { closed: -1, shown: content && content.length <= FAR ? `${ticks}${content}${ticks}` : '' }
}

function runAt(text: string, place: number): number {
  let end = place
  while (text[end] === text[place]) end += 1
  return end - place
}

/** `text` with what is open closed behind its last word; an opener with nothing behind it yet is held back. */
function closed(text: string, open: Opener[], code = ''): string {
  const left = [...open]
  let kept = text
  for (let last = left.at(-1); !code && last && !kept.slice(last.from + last.length).trim(); last = left.at(-1)) {
    kept = kept.slice(0, last.from)
    left.pop()
  }
  const near = left.filter(({ from }) => kept.length - from < FAR)
  if (!near.length) return kept + code
  return (
    (kept + code).trimEnd() +
    near
      .toReversed()
      .map(({ sign, length }) => sign.repeat(length))
      .join('')
  )
}
