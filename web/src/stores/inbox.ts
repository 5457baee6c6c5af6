/** The calls that wait for a decision, for the badge, the inbox and the cards. Asked for now and then, and after each change. */
import { defineStore } from 'pinia'
import { computed, ref } from 'vue'

import { api } from '@/api/client'
import type { Approval, Decided, DecisionBody } from '@/api/types'

/** Milliseconds between two looks while the page is seen. */
const LOOK = 10_000

export const useInbox = defineStore('inbox', () => {
  const pending = ref<Approval[]>([])
  const count = computed(() => pending.value.length)
  let timer: ReturnType<typeof setInterval> | undefined

  async function look(): Promise<void> {
    pending.value = (await api.get<{ approvals: Approval[] }>('/approvals', { limit: 500 })).approvals
  }

  /** Decide about a call. Throws `ProblemError`; one with status 409 holds the approval as it is in `problem.approval`. */
  async function decide(id: string, decision: DecisionBody): Promise<Approval> {
    try {
      return (await api.post<Decided>(`/approvals/${id}/decision`, decision)).approval
    } finally {
      void look().catch(() => undefined)
    }
  }

  function watch(): () => void {
    const glance = () => {
      if (!document.hidden) void look().catch(() => undefined)
    }
    glance()
    timer ??= setInterval(glance, LOOK)
    document.addEventListener('visibilitychange', glance)
    return () => {
      clearInterval(timer)
      timer = undefined
      document.removeEventListener('visibilitychange', glance)
    }
  }
  return { pending, count, look, decide, watch }
})
