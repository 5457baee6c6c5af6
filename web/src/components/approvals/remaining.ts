/** How long there is left, in words of a language; and when to look again. */

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** From here on the seconds are counted. */
const NEAR = 2 * MINUTE

type Unit = 'day' | 'hour' | 'minute' | 'second'

/** The time left in words, coarse while it is long: '' when it is over. */
export function remaining(milliseconds: number, locale: string): string {
  if (milliseconds <= 0) return ''
  return new Intl.ListFormat(locale, { type: 'unit', style: 'short' }).format(
    amounts(milliseconds).map(([count, unit]) =>
      new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count),
    ),
  )
}

function amounts(milliseconds: number): [number, Unit][] {
  if (milliseconds >= 2 * DAY) return [[Math.floor(milliseconds / DAY), 'day']]
  const [hours, minutes] = [Math.floor(milliseconds / HOUR), Math.floor((milliseconds % HOUR) / MINUTE)]
  const long: [number, Unit][] = [
    [hours, 'hour'],
    [minutes, 'minute'],
  ]
  if (milliseconds > NEAR) return long.filter(([count]) => count)
  const seconds = Math.ceil(milliseconds / SECOND)
  const short: [number, Unit][] = [
    [Math.floor(seconds / 60), 'minute'],
    [seconds % 60, 'second'],
  ]
  return short.filter(([count]) => count)
}

/** Milliseconds until the words change: each second near the end, else at the next whole minute. */
export function nextChange(milliseconds: number): number {
  if (milliseconds <= NEAR) return milliseconds % SECOND || SECOND
  return Math.min(milliseconds % MINUTE || MINUTE, milliseconds - NEAR)
}

export function isNear(milliseconds: number): boolean {
  return milliseconds <= NEAR
}
