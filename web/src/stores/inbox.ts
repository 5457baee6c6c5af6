/** The calls that wait for a decision, for the badge, the inbox and the cards. Asked for now and then, and after each change. */
import { defineStore } from 'pinia'
import { computed, ref, shallowReactive, watch as onChange } from 'vue'

import { api, fetched, ProblemError } from '@/api/client'
import type { Approval, ApprovalForm, Decided, DecisionBody, Problem } from '@/api/types'
import { useAccount } from '@/stores/account'

/** Milliseconds between two looks while the page is seen. */
const LOOK = 10_000
/** How many are listed at once; more than the server tells of cannot be waited for here. */
export const MOST = 500
/** Clocks that differ by less than this count as the same: the server's tells whole seconds only. */
const SAME_CLOCK = 2_000

/** A decision as one sends it: what is left out is as usual. */
export type Wish = Pick<DecisionBody, 'decision'> & Partial<DecisionBody>

export const useInbox = defineStore('inbox', () => {
  const pending = ref<Approval[]>([])
  const count = computed(() => pending.value.length)
  /** How often there was an answer to a look. */
  const looks = ref(0)
  /** Those that this page saw decided or closed. */
  const closed = shallowReactive(new Map<string, Approval>())
  let skew = 0
  let asked = 0
  let watchers = 0
  let timer: ReturnType<typeof setInterval> | undefined

  // Whoever logs in next has an inbox of their own.
  const account = useAccount()
  onChange(
    () => account.me?.id,
    () => {
      asked++
      pending.value = []
      closed.clear()
    },
  )

  async function look(): Promise<void> {
    const turn = ++asked
    const response = await fetched('GET', '/approvals', { query: { limit: MOST } })
    const { approvals } = (await response.json()) as { approvals: Approval[] }
    if (turn !== asked) return
    const difference = Date.parse(response.headers.get('date') ?? '') - Date.now()
    skew = Math.abs(difference) > SAME_CLOCK ? difference : 0
    pending.value = approvals.filter(({ id }) => !closed.has(id))
    looks.value++
  }

  /** The time of the server, which says when an approval expires. */
  function now(): number {
    return Date.now() + skew
  }

  /** All that is needed to draw an approval. */
  async function form(id: string, signal?: AbortSignal): Promise<ApprovalForm> {
    const found = await api.get<ApprovalForm>(`/approvals/${encodeURIComponent(id)}`, {}, signal)
    remember(found.approval)
    return found
  }

  /** Decide about a call. Throws `ProblemError`; one with status 409 holds the approval as it is in `problem.approval`. */
  async function decide(id: string, decision: Wish): Promise<Approval> {
    try {
      const { approval } = await api.post<Decided>(`/approvals/${encodeURIComponent(id)}/decision`, decision)
      remember(approval)
      return approval
    } catch (error) {
      const instead = decidedInstead(error)
      if (instead) remember(instead)
      throw error
    } finally {
      void look().catch(() => undefined)
    }
  }

  /** What was closed once stays closed. */
  function remember(approval: Approval): void {
    if (approval.status === 'pending') return
    closed.set(approval.id, approval)
    pending.value = pending.value.filter(({ id }) => id !== approval.id)
  }

  function glance(): void {
    if (!document.hidden) void look().catch(() => undefined)
  }

  /** Look now and then, until whoever asked for it says that it is enough. */
  function watch(): () => void {
    glance()
    if (!watchers++) {
      timer = setInterval(glance, LOOK)
      document.addEventListener('visibilitychange', glance)
    }
    let there = true
    return () => {
      if (!there) return
      there = false
      if (--watchers) return
      clearInterval(timer)
      document.removeEventListener('visibilitychange', glance)
    }
  }
  return { pending, count, looks, closed, look, now, form, decide, watch }
})

/** How an approval was decided, when it was so before; `null` when the error says nothing of it. */
export function decidedInstead(error: unknown): Approval | null {
  if (!(error instanceof ProblemError) || error.status !== 409) return null
  return (error.problem as (Problem & { approval?: Approval }) | null)?.approval ?? null
}
