/** What the eye would miss in a text: characters without a shape, those that turn the reading direction, spaces at the edge. */
import { isObject, type Value } from './arguments'

/** `bidi` turns the reading direction, `hidden` and `control` have no shape, `blank` looks like a space, `space` is one to be seen. */
export type Mark = 'bidi' | 'hidden' | 'control' | 'blank' | 'tab' | 'space'

export interface Piece {
  text: string
  mark: Mark | null
  /** Such as U+202E. */
  code: string
}

/** Emoji are told apart first: inside them the joiners and selectors are at home. */
const EMOJI = String.raw`\p{Extended_Pictographic}\uFE0F?\p{Emoji_Modifier}?(?:\u200D\p{Extended_Pictographic}\uFE0F?\p{Emoji_Modifier}?)*`
const KEYCAP = String.raw`[0-9#*]\uFE0F?\u20E3`
const SHAPELESS = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]`
const BLANK = String.raw`(?! )\p{Zs}`
const TELLING_SPACES = String.raw`(?<=^|\n) +| +(?=\n|$)| {2,}`
const WATCHED = new RegExp(`(${EMOJI}|${KEYCAP}|\\n)|(${SHAPELESS})|(${BLANK})|(${TELLING_SPACES})`, 'gu')
const BIDI = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u

/** The text in pieces, each with what is to be said of it. Their texts together are the text. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = []
  let plain = 0
  for (const match of text.matchAll(WATCHED)) {
    const [whole, known, shapeless, blank] = match
    if (known !== undefined) continue
    if (match.index > plain) found.push({ text: text.slice(plain, match.index), mark: null, code: '' })
    plain = match.index + whole.length
    found.push({ text: whole, mark: shapeless ? markOf(shapeless) : blank ? 'blank' : 'space', code: codeOf(whole) })
  }
  if (plain < text.length) found.push({ text: text.slice(plain), mark: null, code: '' })
  return found
}

function markOf(character: string): Mark {
  if (character === '\t') return 'tab'
  if (BIDI.test(character)) return 'bidi'
  return /\p{Cc}/u.test(character) ? 'control' : 'hidden'
}

function codeOf(text: string): string {
  return `U+${(text.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** How many characters there are that would deceive: invisible ones, and those that turn the reading direction. */
export function deceiving(text: string): number {
  return pieces(text).filter(({ mark, text: own }) =>
    mark === 'control' ? own !== '\r' : mark === 'bidi' || mark === 'hidden',
  ).length
}

/** The same of all texts and names in a value. */
export function deceivingIn(value: Value): number {
  if (typeof value === 'string') return deceiving(value)
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + deceivingIn(each), 0)
  if (!isObject(value)) return 0
  return Object.entries(value).reduce((sum, [name, each]) => sum + deceiving(name) + deceivingIn(each), 0)
}
