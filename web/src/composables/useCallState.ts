/** How it stands with a call: what it is doing or what became of it, for how long, and what that means. */
import { computed } from 'vue'
import { useI18n } from 'vue-i18n'

import type { Outcome } from '@/api/types'
import { useNow } from '@/composables/useNow'
import type { CallView, RunView } from '@/run/view'

export type CallState = Outcome | 'waiting' | 'working' | 'queued' | 'open'

export function useCallState(call: () => CallView, run: () => RunView) {
  const { t, te } = useI18n()

  const state = computed<CallState>(() => {
    const { outcome, approval, startedAt } = call()
    const { ending, waiting } = run()
    if (outcome) return outcome
    if (approval && !approval.decision && waiting.includes(approval.id)) return 'waiting'
    if (ending && ending !== 'awaiting_approval') return 'open'
    return startedAt === null ? 'queued' : 'working'
  })
  const now = useNow(() => state.value === 'working')
  const milliseconds = computed(() => {
    const { startedAt, finishedAt } = call()
    if (startedAt === null) return null
    if (finishedAt !== null) return finishedAt - startedAt
    return state.value === 'working' ? Math.max(0, now.value - startedAt) : null
  })
  const word = computed(() =>
    call().outcome || state.value === 'open' ? t(`house.outcome.${state.value}`) : t(`steps.state.${state.value}`),
  )
  /** Why it is so, in words; nothing when it was simply done. */
  const because = computed(() => {
    const known = (area: string, name: string) => (name && te(`steps.${area}.${name}`) ? t(`steps.${area}.${name}`) : '')
    const why = known('because', call().code)
    const means = known('means', state.value)
    // That nobody knows what happened is said in any case.
    return why && means && state.value === 'unknown' && call().code !== 'interrupted' ? `${why} ${means}` : why || means
  })
  return { state, milliseconds, word, because }
}
