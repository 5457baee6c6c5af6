/**
 * One run of a conversation while it is looked at: what is told of it is gathered, and folded at most once in a frame.
 * Knows no connection; `cursor` is where one has to begin.
 */
import { ref, shallowRef, type Ref, type ShallowRef } from 'vue'

import type { Event, RunSummary, TextDelta, ThinkingDelta, Told } from '@/api/types'

import { apply, fold } from './reducer'
import { emptyRun, type RunView } from './view'

/** Words handed to a run that it has not heard yet; `after` is the number of the last record when they were. */
export interface Said {
  text: string
  after: number
}

export interface LiveRun {
  readonly id: string
  readonly summary: ShallowRef<RunSummary>
  readonly view: ShallowRef<RunView>
  /** `null` until it is known. */
  readonly connected: Ref<boolean | null>
  readonly said: ShallowRef<Said[]>
  /** Whether it was asked to stop from here, and has not heard it yet. */
  readonly stopping: Ref<boolean>
  /** The place behind which nothing was told yet. */
  cursor: () => string
  /** One item of the stream, in order. It is drawn with the next frame. */
  tell: (item: Told, id: string) => void
  /** Records from the log, whichever of them are new. */
  take: (summary: RunSummary, events: readonly Event[]) => void
  /** Fold now whatever waits for the frame. */
  flush: () => void
}

export type Frame = (draw: () => void) => void

/** Browsers draw no frames of a page that is not seen; its run goes on all the same. */
export const nextFrame: Frame = (draw) => {
  if (document.hidden) setTimeout(draw, 250)
  else requestAnimationFrame(draw)
}

export function liveRun(summary: RunSummary, events: readonly Event[] = [], frame: Frame = nextFrame): LiveRun {
  const known = shallowRef(summary)
  const view = shallowRef(events.length ? fold(summary.id, events) : emptyRun(summary.id))
  const connected = ref<boolean | null>(null)
  const said = shallowRef<Said[]>([])
  const stopping = ref(false)
  let waiting: Told[] = []
  let cursor = after(view.value.seq)

  function flush(): void {
    const told = joined(waiting)
    waiting = []
    if (told.length) view.value = told.reduce(apply, view.value)
  }

  function tell(item: Told, id: string): void {
    cursor = id
    if (waiting.push(item) === 1) frame(flush)
  }

  function take(newer: RunSummary, records: readonly Event[]): void {
    flush()
    known.value = newer
    const fresh = records.filter((record) => record.seq > view.value.seq)
    if (fresh.length) view.value = fresh.reduce(apply, view.value)
    // A place within a step is kept as long as the step is the newest thing that is known.
    if (view.value.seq > Number.parseInt(cursor || '0')) cursor = after(view.value.seq)
  }
  return { id: summary.id, summary: known, view, connected, said, stopping, cursor: () => cursor, tell, take, flush }
}

/** Whether more is to come of it. */
export function isOpen(run: LiveRun): boolean {
  const { ending } = run.view.value
  return run.summary.value.ended_at === null && (ending === null || ending === 'awaiting_approval')
}

/** Neighbouring pieces of the same text as one piece: a hundred of them cost no more than one. */
export function joined(told: readonly Told[]): Told[] {
  const all: Told[] = []
  for (let place = 0; place < told.length;) {
    const first = told[place] as Told
    let end = place + 1
    if ('text' in first) {
      while (end < told.length && continues(first, told[end] as Told)) end += 1
      const pieces = told.slice(place, end) as (TextDelta | ThinkingDelta)[]
      all.push({ ...first, text: pieces.map((piece) => piece.text).join('') })
    } else all.push(first)
    place = end
  }
  return all
}

function continues(first: TextDelta | ThinkingDelta, next: Told): boolean {
  return 'text' in next && next.type === first.type && next.step === first.step
}

function after(seq: number): string {
  return seq ? String(seq) : ''
}
