/**
 * How wide a timeline draws each stretch of time. Pure.
 *
 * The work of a run takes milliseconds or minutes, and a person who is asked takes hours: to scale, nothing would be seen of one of them.
 * So what is worked on keeps its proportions, what is too short to be seen is widened, and waiting is narrowed.
 */
import type { Timeline } from './timeline'

/** The share of all working time that a stretch has at least, and what all of them together may add to it. */
const LEAST = 0.015
const ALL_LEAST = 0.5
/** The share that a stretch of mere waiting has at most. */
const MOST_WAITING = 0.2
/** How far from true proportions it may be without being called bent: the share of the width that lies elsewhere. */
const BENT = 0.05

export interface Scale {
  /** Where each place is, from 0 to 1. */
  places: number[]
  /** Whether stretches are not drawn in proportion. */
  bent: boolean
  /** How many stretches have something in them: what width is needed follows from it. */
  stretches: number
}

export function scale(of: Timeline): Scale {
  const { times, bars } = of
  const count = Math.max(times.length - 1, 0)
  const worked = new Array<boolean>(count).fill(false)
  const covered = new Array<boolean>(count).fill(false)
  for (const bar of bars) {
    covered.fill(true, bar.first, bar.last)
    if (bar.kind === 'model' || bar.kind === 'tool') worked.fill(true, bar.first, bar.last)
  }
  const took = Array.from({ length: count }, (_, place) => (times[place + 1] ?? 0) - (times[place] ?? 0))
  const work = took.reduce((all, each, place) => all + (worked[place] ? each : 0), 0)
  const whole = work || took.reduce((all, each) => all + each, 0) || 1
  const stretches = covered.filter(Boolean).length
  const least = whole * Math.min(LEAST, ALL_LEAST / (stretches || 1))
  const widths = took.map((each, place) => {
    const most = worked[place] || !work ? each : Math.min(each, whole * MOST_WAITING)
    return covered[place] ? Math.max(most, least) : most
  })
  const all = widths.reduce((sum, each) => sum + each, 0) || 1
  const places = [0]
  for (const width of widths) places.push(Math.min(1, (places.at(-1) ?? 0) + width / all))
  const time = took.reduce((sum, each) => sum + each, 0) || 1
  const astray = widths.reduce((sum, width, place) => sum + Math.abs(width / all - (took[place] ?? 0) / time), 0)
  return { places, bent: astray > BENT, stretches }
}

/** The time at a share of the width. */
export function timeAt(share: number, drawn: Scale, times: readonly number[]): number {
  const next = drawn.places.findIndex((place, index) => index > 0 && place >= share)
  if (next < 1) return times[next < 0 ? times.length - 1 : 0] ?? 0
  const [left = 0, right = 0] = [drawn.places[next - 1], drawn.places[next]]
  const [from = 0, to = 0] = [times[next - 1], times[next]]
  return right === left ? to : from + ((share - left) / (right - left)) * (to - from)
}
