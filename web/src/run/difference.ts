/** What differs between two texts, word by word; Chinese, which has no spaces, character by character. Pure, and bounded. */

export interface Piece {
  kind: 'same' | 'gone' | 'new'
  text: string
}

/** Squares of the table that is filled at most: more than that, and whole lines are compared instead of words. */
const MOST = 2_000_000

/** Each is written without spaces between words. */
const UNSPACED = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}`
const LETTER = String.raw`(?:(?![${UNSPACED}])[\p{L}\p{N}_])`
const WORD = new RegExp(String.raw`[${UNSPACED}]|\r?\n|[^\S\n]+|${LETTER}+(?:[.,]\p{N}+)*|[^\p{L}\p{N}\s_]`, 'gu')

export function difference(before: string, after: string, most = MOST): Piece[] {
  for (const pieces of [words, lines]) {
    const [one, other] = [pieces(before), pieces(after)]
    const ends = commonEnds(one, other)
    const [left, right] = [ends.within(one), ends.within(other)]
    if ((left.length + 1) * (right.length + 1) <= most) {
      return merged([...same(one.slice(0, ends.front)), ...table(left, right), ...same(ends.behind(one))])
    }
  }
  return merged([
    { kind: 'gone', text: before },
    { kind: 'new', text: after },
  ])
}

export function words(text: string): string[] {
  return text.match(WORD) ?? []
}

function lines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? []
}

function same(pieces: readonly string[]): Piece[] {
  return pieces.map((text) => ({ kind: 'same', text }))
}

/** What both begin and end with needs no comparing. */
function commonEnds(one: readonly string[], other: readonly string[]) {
  const most = Math.min(one.length, other.length)
  let front = 0
  while (front < most && one[front] === other[front]) front += 1
  let back = 0
  while (back < most - front && one[one.length - 1 - back] === other[other.length - 1 - back]) back += 1
  return {
    front,
    within: (list: readonly string[]) => list.slice(front, list.length - back),
    behind: (list: readonly string[]) => list.slice(list.length - back),
  }
}

/** By the longest common subsequence. */
function table(one: readonly string[], other: readonly string[]): Piece[] {
  const width = other.length + 1
  const longest = new Uint32Array((one.length + 1) * width)
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        one[i] === other[j]
          ? (longest[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(longest[(i + 1) * width + j] ?? 0, longest[i * width + j + 1] ?? 0)
    }
  }
  const pieces: Piece[] = []
  let [i, j] = [0, 0]
  while (i < one.length || j < other.length) {
    const [left, right] = [one[i], other[j]]
    if (left !== undefined && left === right) {
      pieces.push({ kind: 'same', text: left })
      i += 1
      j += 1
    } else if (
      right === undefined ||
      (left !== undefined && (longest[(i + 1) * width + j] ?? 0) >= (longest[i * width + j + 1] ?? 0))
    ) {
      pieces.push({ kind: 'gone', text: left ?? '' })
      i += 1
    } else {
      pieces.push({ kind: 'new', text: right })
      j += 1
    }
  }
  return pieces
}

/** Neighbours of a kind as one, and of what was replaced first all that is gone, then all that is new. */
function merged(pieces: readonly Piece[]): Piece[] {
  const result: Piece[] = []
  let [gone, fresh] = ['', '']
  const settle = () => {
    if (gone) result.push({ kind: 'gone', text: gone })
    if (fresh) result.push({ kind: 'new', text: fresh })
    gone = fresh = ''
  }
  for (const { kind, text } of pieces) {
    if (kind === 'gone') gone += text
    else if (kind === 'new') fresh += text
    else {
      settle()
      const last = result.at(-1)
      if (last?.kind === 'same') last.text += text
      else result.push({ kind, text })
    }
  }
  settle()
  return result
}
