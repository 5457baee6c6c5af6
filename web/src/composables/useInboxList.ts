/** The list on the inbox's page: what was shown once stays where it is, until something else is asked for. */
import { computed, ref, shallowRef, watch } from 'vue'

import { api } from '@/api/client'
import type { Approval } from '@/api/types'
import { MOST, useInbox } from '@/stores/inbox'

export const FILTERS = ['pending', 'decided', 'any'] as const
export type Filter = (typeof FILTERS)[number]

/** How many are drawn at once. */
const PAGE = 15

/** What one conversation asks; what it asks later may stand further down. */
export interface Group {
  key: string
  sessionId: string
  approvals: Approval[]
}

function grouped(approvals: Approval[]): Approval[] {
  const bySession = new Map<string, Approval[]>()
  for (const each of approvals) bySession.set(each.session_id, [...(bySession.get(each.session_id) ?? []), each])
  return [...bySession.values()].flat()
}

export function useInboxList() {
  const inbox = useInbox()
  const filter = ref<Filter>('pending')
  const listed = shallowRef<Approval[]>([])
  const trouble = shallowRef<unknown>(null)
  const loaded = ref(false)
  const most = ref(PAGE)
  let turn = 0

  async function load(): Promise<void> {
    const mine = ++turn
    try {
      const answer = await api.get<{ approvals: Approval[] }>('/approvals', { status: filter.value, limit: MOST })
      if (mine !== turn) return
      listed.value = grouped(answer.approvals)
      trouble.value = null
      loaded.value = true
    } catch (error) {
      if (mine === turn) trouble.value = error
    }
  }

  // New ones go behind all that are there, so that nothing moves under a finger.
  watch(
    () => inbox.pending,
    (pending) => {
      if (!loaded.value || filter.value !== 'pending') return
      const known = new Set(listed.value.map(({ id }) => id))
      const fresh = pending.filter(({ id }) => !known.has(id))
      if (fresh.length) listed.value = [...listed.value, ...fresh]
    },
  )
  watch(
    filter,
    () => {
      listed.value = []
      loaded.value = false
      most.value = PAGE
      void load()
    },
    { immediate: true },
  )

  const groups = computed(() => {
    const found: Group[] = []
    for (const approval of listed.value.slice(0, most.value)) {
      const last = found.at(-1)
      if (last?.sessionId === approval.session_id) last.approvals.push(approval)
      else found.push({ key: approval.id, sessionId: approval.session_id, approvals: [approval] })
    }
    return found
  })
  const rest = computed(() => Math.max(listed.value.length - most.value, 0))
  const cut = computed(() => listed.value.length >= MOST)
  function more(): void {
    most.value += PAGE
  }
  return { filter, groups, rest, cut, loaded, trouble, load, more, page: PAGE }
}
