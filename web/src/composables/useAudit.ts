/** The lines of the audit that were read so far, the newest first, all of them or those of one run. */
import { ref, shallowRef, watch } from 'vue'

import { api } from '@/api/client'
import type { AuditEntry } from '@/api/types'

const PAGE = 50

export function useAudit(run: () => string) {
  const entries = shallowRef<AuditEntry[]>([])
  const next = ref<number | null>(null)
  const loaded = ref(false)
  const busy = ref(false)
  const problem = shallowRef<unknown>(null)
  let turn = 0

  async function read(before: number | null): Promise<void> {
    const mine = ++turn
    busy.value = true
    try {
      const page = await api.get<{ entries: AuditEntry[]; next: number | null }>('/audit', { run: run(), before, limit: PAGE })
      if (mine !== turn) return
      entries.value = before === null ? page.entries : [...entries.value, ...page.entries]
      next.value = page.next
      problem.value = null
      loaded.value = true
    } catch (error) {
      if (mine === turn) problem.value = error
    } finally {
      if (mine === turn) busy.value = false
    }
  }
  async function older(): Promise<void> {
    if (next.value !== null && !busy.value) await read(next.value)
  }
  /** What was asked for last, once more. */
  async function again(): Promise<void> {
    await read(loaded.value ? next.value : null)
  }
  watch(
    run,
    () => {
      entries.value = []
      loaded.value = false
      next.value = null
      void read(null)
    },
    { immediate: true },
  )
  return { entries, next, loaded, busy, problem, older, again }
}

/** Whether something was not done because somebody, or something, said no. */
export function isRefused(entry: AuditEntry): boolean {
  return (
    entry.decision === 'refused' ||
    entry.result.startsWith('rejected') ||
    (entry.action === 'decide' && entry.result === 'deny')
  )
}
