/** Lengths of time in words: as exact as one wants to know them. */
import { useI18n } from 'vue-i18n'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export function useSpan() {
  const { t, n } = useI18n()

  function both(milliseconds: number, large: number, small: number, key: 'minutes' | 'hours' | 'days'): string {
    // Rounded first: 59.7 seconds over a minute are two minutes, not one minute and sixty seconds.
    const rounded = Math.round(milliseconds / small) * small
    return t(`runs.span.${key}`, { large: Math.floor(rounded / large), small: Math.round((rounded % large) / small) })
  }

  function span(milliseconds: number): string {
    const whole = Math.max(0, Math.round(milliseconds))
    if (whole < SECOND) return t('runs.span.milliseconds', { count: whole })
    if (whole < MINUTE - 50) return t('runs.span.seconds', { count: n(whole / SECOND, 'seconds') })
    if (whole < HOUR - SECOND / 2) return both(whole, MINUTE, SECOND, 'minutes')
    if (whole < DAY - MINUTE / 2) return both(whole, HOUR, MINUTE, 'hours')
    return both(whole, DAY, HOUR, 'days')
  }
  return { span }
}
