/** Following a run: Server-Sent Events by fetch, taken up again behind the last one whenever the connection breaks. */
import { createParser } from 'eventsource-parser'

import { api, fetched, ProblemError } from './client'
import type { Event, LargeRecord, StreamItem, Told } from './types'

/** Milliseconds of silence after which a connection counts as dead: the server breaks each silence within ten seconds. */
const SILENCE = 30_000
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 10_000

export interface Follower {
  /** One item behind the cursor `id`, in order, none twice. */
  tell: (item: Told, id: string) => void
  /** Whether the stream is there now. */
  connected: (now: boolean) => void
}

/**
 * Follow a run from behind the cursor `after` (empty: from its beginning) to its end, through any number of broken connections.
 * Returns when the run is over or `signal` says so. Throws `ProblemError` when the server refuses.
 */
export async function follow(runId: string, after: string, follower: Follower, signal: AbortSignal): Promise<void> {
  let cursor = after
  let pause = FIRST_PAUSE
  while (!signal.aborted) {
    try {
      const over = await connection(
        runId,
        cursor,
        signal,
        (item, id) => {
          cursor = id
          pause = FIRST_PAUSE
          follower.tell(item, id)
        },
        () => follower.connected(true),
      )
      if (over) return
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ProblemError && error.status >= 400 && error.status < 500 && error.status !== 429) throw error
    }
    if (signal.aborted) return
    follower.connected(false)
    await rest(pause * (0.75 + Math.random() / 2), signal)
    pause = Math.min(pause * 2, LONGEST_PAUSE)
  }
}

/** One connection; whether the run is over. */
async function connection(
  runId: string,
  cursor: string,
  signal: AbortSignal,
  tell: (item: Told, id: string) => void,
  opened: () => void,
): Promise<boolean> {
  const broken = new AbortController()
  const stop = () => broken.abort()
  signal.addEventListener('abort', stop)
  let watch = setTimeout(stop, SILENCE)
  try {
    const headers: Record<string, string> = { accept: 'text/event-stream' }
    if (cursor) headers['last-event-id'] = cursor
    const response = await fetched('GET', `/runs/${runId}/events`, { headers, signal: broken.signal })
    if (response.status === 204 || !response.body) return true
    opened()
    let over = false
    const waiting: { item: StreamItem; id: string }[] = []
    const parser = createParser({
      onEvent: ({ data, id }) => waiting.push({ item: JSON.parse(data) as StreamItem, id: id ?? '' }),
    })
    const decoder = new TextDecoder()
    const reader = response.body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return over
      clearTimeout(watch)
      watch = setTimeout(stop, SILENCE)
      parser.feed(decoder.decode(value, { stream: true }))
      for (const { item, id } of waiting.splice(0)) {
        const whole = await resolved(item, broken.signal)
        over = whole.type === 'run_ended'
        tell(whole, id)
      }
    }
  } finally {
    clearTimeout(watch)
    signal.removeEventListener('abort', stop)
    broken.abort()
  }
}

/** An item itself: one that is too large for the stream is fetched. */
export async function resolved(item: StreamItem, signal?: AbortSignal): Promise<Told> {
  return isReference(item) ? await api.get<Event>(item.reference, {}, signal) : item
}

function isReference(item: StreamItem): item is LargeRecord {
  return 'reference' in item
}

function rest(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}
