/** A text as a row of top-level blocks, so that one that grows is read again only at its end. Pure. */
import { calmed } from './unfinished'
import { blockLines } from './parser'

/** A text taken apart. Whatever is added to it later, the first `settled` blocks stay as they are. */
export interface Split {
  blocks: string[]
  settled: number
  /** The text that the settled blocks were read from. */
  prefix: string
}

export const NOTHING: Split = { blocks: [], settled: 0, prefix: '' }

/** Blocks at the end that what follows may still change: "1" may become a list's next item, "#" the middle of a paragraph. */
const UNSETTLED = 2

/** Take a text apart, going on from how it was `before` when it has only grown. `live` says that it is still being written. */
export function split(source: string, live: boolean, before: Split = NOTHING): Split {
  const text = source.replace(/\r\n?/g, '\n').replace(/\0/g, '\ufffd')
  const known = text.startsWith(before.prefix) ? before : NOTHING
  const rest = text.slice(known.prefix.length)
  const tail = live ? calmed(rest) : rest
  const starts = startsOfLines(tail)
  const ranges = blockLines(tail)
  const kept = known.blocks.slice(0, known.settled)
  const blocks = [...kept, ...ranges.map(([from, to]) => tail.slice(starts[from], starts[to] ?? tail.length).trimEnd())]
  const settled = Math.max(blocks.length - UNSETTLED, known.settled)
  const next = ranges[settled - known.settled]
  const prefix = next && settled > known.settled ? known.prefix + tail.slice(0, starts[next[0]]) : known.prefix
  return { blocks, settled, prefix }
}

/**
 * The tags of the blocks that are headings, empty ones for the others: those of a text begin below those of the page, and none is
 * more than one step below the one before it, whatever signs were written.
 */
export function headings(blocks: readonly string[]): string[] {
  let last = 0
  return blocks.map((block) => {
    const signs = /^ {0,3}(#{1,6})(?=\s|$)/.exec(block)?.[1]
    if (!signs) return ''
    last = Math.min(signs.length, last + 1)
    return `h${Math.min(last + 2, 6)}`
  })
}

function startsOfLines(text: string): number[] {
  const starts = [0]
  for (let place = text.indexOf('\n'); place >= 0; place = text.indexOf('\n', place + 1)) starts.push(place + 1)
  return starts
}
