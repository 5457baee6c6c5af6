/** Words for what went wrong: the catalogue's where it knows the code, else those of the server. */
import { useI18n } from 'vue-i18n'

import { ProblemError } from '@/api/client'

export function useProblem() {
  const { t, te } = useI18n()
  function words(error: unknown): string {
    if (!(error instanceof ProblemError)) return t('house.error.internal_error')
    if (error.status === 0 || error.code === 'server_unreachable') return t('shell.problem.unreachable')
    const key = `house.error.${error.code}`
    return te(key) ? t(key, error.params) : error.message || error.code
  }
  return { words }
}
