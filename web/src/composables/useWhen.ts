/** Times for lists: short, but with the year where it is another one. */
import { useI18n } from 'vue-i18n'

export function useWhen() {
  const { d } = useI18n()
  function when(at: number): string {
    const thisYear = new Date(at).getFullYear() === new Date().getFullYear()
    return d(at, thisYear ? 'short' : 'long')
  }
  return { when }
}
