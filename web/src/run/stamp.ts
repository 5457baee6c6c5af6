/** The line at the end of a result that says where it is from and when it was had. Pure. */
import type { CallView } from './view'

export interface Stamped {
  text: string
  /** Empty where there is no such line. */
  source: string
  /** Milliseconds since 1970-01-01 UTC. */
  at: number | null
}

/** A result and what its stamp says. Only what was done has one. */
export function readStamp({ text, outcome }: CallView): Stamped {
  const stamp = outcome === 'done' ? /\n\[source: ([^\n]*); at ([^\n]*)\]$/.exec(text) : null
  if (!stamp) return { text, source: '', at: null }
  const [line, source = '', time = ''] = stamp
  const at = Date.parse(time)
  return { text: text.slice(0, -line.length), source, at: Number.isNaN(at) ? null : at }
}
