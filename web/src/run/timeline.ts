/**
 * The timeline of a run: bars for the model, for tools, for waiting, and for times of which nothing is known. Pure: made from events,
 * it knows nothing of how it is drawn.
 *
 * Places are the numbers of events in the list, from 0. What happened one after the other is never drawn as if it had happened at once,
 * not even within the same millisecond; how wide the way from one place to the next is drawn is told by `run/scale.ts`.
 */
import type { Event, Outcome } from '@/api/types'

export type BarKind = 'model' | 'tool' | 'waiting' | 'gap'
/** Why nothing is known: it was in the queue, its process went away in the midst of something, or between two things. */
export type GapCause = 'queued' | 'crash' | 'idle'
/** `void`: an attempt at a reply that broke off. */
export type BarState = Outcome | 'open' | 'void'

export interface Bar {
  key: string
  kind: BarKind
  /** 0 is the model's, those of tools follow; gaps go through all. */
  lane: number
  /** Places, the first included. */
  first: number
  last: number
  from: number
  to: number
  step: number
  callId: string
  name: string
  state: BarState
  cause: GapCause | ''
}

export interface Timeline {
  bars: Bar[]
  lanes: number
  /** The time at each place; the last one is the present while the run is open. */
  times: number[]
}

export interface Frame {
  /** When the run was made: what lies between this and its beginning is the queue. */
  createdAt?: number | undefined
  /** The present, while the run is open. */
  now?: number | undefined
}

/** Milliseconds in which nothing happens from which on that is worth a bar. */
const IDLE = 1000

export function timeline(events: readonly Event[], frame: Frame = {}): Timeline {
  const drawing = new Drawing(events, frame)
  events.forEach((event, index) => drawing.take(event, index))
  return drawing.finished()
}

class Drawing {
  private readonly times: number[]
  private readonly shift: number
  private readonly bars: Bar[] = []
  private readonly open = new Map<string, Bar>()
  /** How often something was begun, by its key. */
  private readonly begun = new Map<string, number>()

  constructor(
    events: readonly Event[],
    private readonly frame: Frame,
  ) {
    const began = events[0]?.at ?? 0
    const queued = frame.createdAt !== undefined && events.length > 0 && began - frame.createdAt >= IDLE
    this.shift = queued ? 1 : 0
    this.times = queued ? [frame.createdAt ?? 0] : []
    // The clocks of two machines may differ a little: on the drawing time never runs backwards.
    for (const event of events) this.times.push(Math.max(event.at, this.times.at(-1) ?? event.at))
    if (queued) this.add({ kind: 'gap', key: 'gap-0', cause: 'queued', first: 0, last: 1 })
  }

  take(event: Event, index: number): void {
    const place = index + this.shift
    switch (event.type) {
      case 'step_started':
        this.begin('model', `step-${event.step}`, place, { step: event.step, again: event.attempt > 1 ? 'void' : 'crash' })
        break
      case 'model_replied':
        this.close(`step-${event.step}`, place, 'done')
        break
      case 'tool_started':
        this.begin('tool', `call-${event.call_id}`, place, {
          step: event.step,
          callId: event.call_id,
          name: event.name,
          again: 'crash',
        })
        break
      case 'tool_finished':
        if (event.code === 'interrupted') this.interrupt(`call-${event.result.call_id}`, place)
        this.close(`call-${event.result.call_id}`, place, event.result.outcome)
        break
      case 'approval_requested':
        this.begin('waiting', `approval-${event.approval_id}`, place, {
          step: event.step,
          callId: event.call_id,
          name: event.name,
          again: 'crash',
        })
        break
      case 'approval_decided':
        this.close(`approval-${event.approval_id}`, place, 'done')
        break
      case 'run_ended':
        for (const key of [...this.open.keys()]) this.close(key, place, 'void')
    }
  }

  finished(): Timeline {
    const last = this.times.at(-1)
    const { now } = this.frame
    if (last !== undefined && now !== undefined) {
      this.times.push(Math.max(now, last))
      for (const bar of this.open.values()) this.stretch(bar, this.times.length - 1)
    }
    for (const bar of this.open.values()) this.stretch(bar, Math.max(bar.first, this.times.length - 1))
    this.findIdle()
    const lanes = withLanes(this.bars)
    const bars = this.bars.toSorted((one, other) => one.first - other.first || one.lane - other.lane)
    return { bars, lanes, times: this.times }
  }

  private add(given: Pick<Bar, 'key' | 'kind' | 'first' | 'last'> & Partial<Bar>): Bar {
    const bar: Bar = { lane: 0, from: 0, to: 0, step: 0, callId: '', name: '', state: 'open', cause: '', ...given }
    bar.from = this.times[bar.first] ?? 0
    this.stretch(bar, bar.last)
    this.bars.push(bar)
    return bar
  }

  private stretch(bar: Bar, last: number): void {
    bar.last = last
    bar.to = this.times[last] ?? bar.from
  }

  /** Something begins. When the same was begun before and never ended, that was cut off: by a failed attempt, or by a crash. */
  private begin(
    kind: BarKind,
    key: string,
    place: number,
    rest: { step: number; callId?: string; name?: string; again: 'void' | 'crash' },
  ): void {
    const { again, ...of } = rest
    if (this.open.has(key)) {
      if (again === 'crash') this.interrupt(key, place)
      const cut = this.open.get(key)?.last ?? place
      this.close(key, again === 'crash' ? cut : place, 'void')
    }
    const times = this.begun.get(key) ?? 0
    this.begun.set(key, times + 1)
    this.open.set(key, this.add({ kind, key: times ? `${key}#${times + 1}` : key, first: place, last: place, ...of }))
  }

  private close(key: string, place: number, state: BarState): void {
    const bar = this.open.get(key)
    if (!bar) return
    this.stretch(bar, place)
    bar.state = state
    this.open.delete(key)
  }

  /** It is known until the last event before its process went away, and again from the first one after. */
  private interrupt(key: string, place: number): void {
    const bar = this.open.get(key)
    if (!bar) return
    // Of several that were cut off by one crash only the first one finds it.
    const found = this.bars.find((gap) => gap.cause === 'crash' && gap.first >= bar.first)
    const first = found?.first ?? place - 1
    if (!found) this.add({ kind: 'gap', key: `gap-${first}`, cause: 'crash', first, last: place })
    this.stretch(bar, Math.max(first, bar.first))
  }

  /** Stretches between two events that no bar covers, and that are long. */
  private findIdle(): void {
    const covered = new Array<boolean>(this.times.length).fill(false)
    for (const bar of this.bars) covered.fill(true, bar.first, bar.last)
    for (let place = 0; place + 1 < this.times.length; place += 1) {
      const took = (this.times[place + 1] ?? 0) - (this.times[place] ?? 0)
      if (!covered[place] && took >= IDLE) {
        this.add({ kind: 'gap', key: `gap-${place}`, cause: 'idle', first: place, last: place + 1 })
      }
    }
  }
}

/** Give each call the first lane that is free for as long as it lasts, waiting included; how many lanes there are. */
function withLanes(bars: Bar[]): number {
  const calls = new Map<string, Bar[]>()
  for (const bar of bars) {
    if (bar.kind === 'tool' || bar.kind === 'waiting') calls.set(bar.callId, [...(calls.get(bar.callId) ?? []), bar])
  }
  const spans = [...calls.values()].map((own) => ({
    own,
    first: Math.min(...own.map((bar) => bar.first)),
    last: Math.max(...own.map((bar) => bar.last)),
  }))
  const busy: number[] = []
  for (const { own, first, last } of spans.toSorted((one, other) => one.first - other.first)) {
    const free = busy.findIndex((until) => until <= first)
    const lane = free < 0 ? busy.length : free
    busy[lane] = last
    for (const bar of own) bar.lane = lane + 1
  }
  return busy.length + 1
}
