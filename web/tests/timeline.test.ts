import { describe, expect, it } from 'vitest'

import type { Event } from '@/api/types'
import { scale, timeAt } from '@/run/scale'
import { timeline, type Bar } from '@/run/timeline'

const USAGE = { input_tokens: 1, output_tokens: 1, cached_tokens: 0, reasoning_tokens: 0, estimated: false }
type Told = { type: Event['type']; at: number } & Record<string, unknown>

/** Events in order, numbered, with what the drawing does not look at filled in. */
function events(...told: Told[]): Event[] {
  return told.map((each, index) => ({ seq: index + 1, ...each }) as unknown as Event)
}
const started = (at: number): Told => ({ type: 'run_started', at })
const step = (at: number, number: number, attempt = 1): Told => ({ type: 'step_started', at, step: number, attempt })
const replied = (at: number, number: number): Told => ({ type: 'model_replied', at, step: number, usage: USAGE })
const call = (at: number, id: string, name = 'read_file'): Told => ({ type: 'tool_started', at, step: 1, call_id: id, name })
const done = (at: number, id: string, more = {}): Told => ({
  type: 'tool_finished',
  at,
  step: 1,
  code: '',
  result: { call_id: id, outcome: 'done' },
  ...more,
})
const asked = (at: number, id: string): Told => ({
  type: 'approval_requested',
  at,
  step: 1,
  approval_id: `a-${id}`,
  call_id: id,
  name: 'send_email',
})
const decided = (at: number, id: string): Told => ({ type: 'approval_decided', at, approval_id: `a-${id}` })
const ended = (at: number): Told => ({ type: 'run_ended', at })

function named(bars: Bar[], key: string): Bar {
  const bar = bars.find((each) => each.key === key)
  if (!bar) throw new Error(`no ${key} among ${bars.map((each) => each.key).join(', ')}`)
  return bar
}

describe('the timeline of a run', () => {
  it('draws tools that ran at once in lanes of their own, and one that came later in the first lane again', () => {
    const told = events(
      started(0),
      step(0, 1),
      replied(100, 1),
      call(100, 'one'),
      call(100, 'two'),
      done(150, 'two'),
      done(400, 'one'),
      step(400, 2),
      replied(500, 2),
      call(500, 'three'),
      done(500, 'three'),
      ended(500),
    )
    const { bars, lanes } = timeline(told)
    expect(lanes).toBe(3)
    expect(named(bars, 'step-1')).toMatchObject({ kind: 'model', lane: 0, from: 0, to: 100, state: 'done' })
    expect(named(bars, 'call-one')).toMatchObject({ lane: 1, from: 100, to: 400 })
    expect(named(bars, 'call-two')).toMatchObject({ lane: 2, from: 100, to: 150 })
    expect(named(bars, 'call-three')).toMatchObject({ lane: 1, from: 500, to: 500 })
  })

  it('never draws as parallel what happened one after the other within a millisecond', () => {
    const told = events(started(0), call(5, 'one'), done(5, 'one'), call(5, 'two'), done(5, 'two'), ended(5))
    const drawn = timeline(told)
    expect(drawn.lanes).toBe(2)
    const { places } = scale(drawn)
    const [one, two] = [named(drawn.bars, 'call-one'), named(drawn.bars, 'call-two')]
    expect(places[one.last]).toBeGreaterThan(places[one.first] ?? 1)
    expect(places[two.first]).toBeGreaterThanOrEqual(places[one.last] ?? 1)
  })

  it('shows how long a person was waited for, in the lane of the call', () => {
    const hour = 3_600_000
    const told = events(
      started(0),
      step(0, 1),
      replied(100, 1),
      asked(100, 'mail'),
      decided(hour, 'mail'),
      call(hour, 'mail', 'send_email'),
      done(hour + 200, 'mail'),
      ended(hour + 200),
    )
    const drawn = timeline(told)
    const [waiting, mail] = [named(drawn.bars, 'approval-a-mail'), named(drawn.bars, 'call-mail')]
    expect(waiting).toMatchObject({ kind: 'waiting', from: 100, to: hour, callId: 'mail' })
    expect(waiting.lane).toBe(mail.lane)
    const { places, bent } = scale(drawn)
    const width = (bar: Bar) => (places[bar.last] ?? 0) - (places[bar.first] ?? 0)
    expect(bent).toBe(true)
    expect(width(waiting)).toBeLessThan(0.2)
    expect(width(mail)).toBeGreaterThan(0.5)
  })

  it('leaves open what is waited for until the present', () => {
    const told = events(started(0), step(0, 1), replied(100, 1), asked(100, 'mail'))
    const { bars, times } = timeline(told, { now: 9000 })
    expect(named(bars, 'approval-a-mail')).toMatchObject({ from: 100, to: 9000, state: 'open' })
    expect(times.at(-1)).toBe(9000)
  })

  it('shows a crash as one gap for all that it cut off, and what was done anew after it', () => {
    const told = events(
      started(0),
      call(100, 'one'),
      call(101, 'two'),
      call(60_000, 'one'),
      call(60_001, 'two'),
      done(60_100, 'one'),
      done(60_200, 'two'),
      ended(60_200),
    )
    const { bars, lanes } = timeline(told)
    expect(bars.filter((bar) => bar.kind === 'gap')).toMatchObject([{ cause: 'crash', from: 101, to: 60_000 }])
    expect(named(bars, 'call-one')).toMatchObject({ state: 'void', to: 101 })
    expect(named(bars, 'call-two')).toMatchObject({ state: 'void', to: 101 })
    expect(named(bars, 'call-one#2')).toMatchObject({ state: 'done', from: 60_000, to: 60_100 })
    expect(lanes).toBe(3)
  })

  it('shows a crash where the model was being asked, and where a call could not be done again', () => {
    const model = timeline(events(started(0), step(10, 1), step(5000, 1), replied(5100, 1), ended(5100)))
    expect(named(model.bars, 'gap-1')).toMatchObject({ cause: 'crash', from: 10, to: 5000 })
    expect(named(model.bars, 'step-1#2')).toMatchObject({ from: 5000, to: 5100, state: 'done' })
    const unknown = done(7000, 'mail', { code: 'interrupted', result: { call_id: 'mail', outcome: 'unknown' } })
    const call_ = timeline(events(started(0), call(10, 'mail'), unknown, ended(7000)))
    expect(call_.bars.filter((bar) => bar.kind === 'gap')).toMatchObject([{ cause: 'crash', from: 10, to: 7000 }])
    expect(named(call_.bars, 'call-mail')).toMatchObject({ state: 'unknown', to: 7000 })
  })

  it('shows an attempt that broke off for as long as it took, and no crash', () => {
    const { bars } = timeline(events(started(0), step(0, 1), step(3000, 1, 2), replied(4000, 1), ended(4000)))
    expect(bars.some((bar) => bar.kind === 'gap')).toBe(false)
    expect(named(bars, 'step-1')).toMatchObject({ state: 'void', from: 0, to: 3000 })
    expect(named(bars, 'step-1#2')).toMatchObject({ state: 'done', from: 3000, to: 4000 })
  })

  it('shows the queue and times in which nobody was at work', () => {
    const told = events(started(5000), step(5000, 1), replied(5100, 1), step(30_000, 2), replied(30_100, 2), ended(30_100))
    const { bars } = timeline(told, { createdAt: 1000 })
    expect(bars.filter((bar) => bar.kind === 'gap')).toMatchObject([
      { cause: 'queued', from: 1000, to: 5000 },
      { cause: 'idle', from: 5100, to: 30_000 },
    ])
  })

  it('goes from the left edge to the right one and never back, even where a clock did', () => {
    const drawn = timeline(events(started(100), step(100, 1), replied(90, 1), call(95, 'one'), done(400, 'one'), ended(400)))
    expect(named(drawn.bars, 'step-1')).toMatchObject({ from: 100, to: 100 })
    const { places } = scale(drawn)
    expect(places[0]).toBe(0)
    expect(places.at(-1)).toBeCloseTo(1)
    expect(places).toEqual(places.toSorted((one, other) => one - other))
  })

  it('names the time of every point of the scale', () => {
    const drawn = timeline(events(started(0), step(0, 1), replied(1000, 1), ended(1000)))
    const drawnTo = scale(drawn)
    expect(timeAt(0, drawnTo, drawn.times)).toBe(0)
    expect(timeAt(0.5, drawnTo, drawn.times)).toBeCloseTo(500, 0)
    expect(timeAt(1, drawnTo, drawn.times)).toBe(1000)
  })

  it('is empty for a run of which nothing was told', () => {
    const drawn = timeline([])
    expect(drawn).toMatchObject({ bars: [], lanes: 1 })
    expect(scale(drawn).places).toEqual([0])
  })
})
