/** The list of conversations: the page of it that is shown, what is searched, and which of them are at work or wait for someone. */
import { defineStore } from 'pinia'
import { ref, shallowRef } from 'vue'

import { api } from '@/api/client'
import type { RunSummary, Session } from '@/api/types'

import { useAccount } from './account'

/** Milliseconds between two looks while the page is seen. */
const LOOK = 8_000
/** Milliseconds between two looks at what was told to stop, and how often one looks. */
const SOON = 300
const MOST_LOOKS = 50

export type Activity = 'working' | 'waiting'

interface SessionPage {
  sessions: Session[]
  next: number | null
}

export const useConversations = defineStore('conversations', () => {
  const sessions = shallowRef<Session[]>([])
  const archived = ref(false)
  const search = ref('')
  const loading = ref(false)
  const problem = shallowRef<unknown>(null)
  const next = ref<number | null>(null)
  /** Runs that are not over, by conversation, the oldest first. */
  const open = shallowRef<ReadonlyMap<string, RunSummary[]>>(new Map())
  let asked = 0
  let owner = ''
  let timer: ReturnType<typeof setInterval> | undefined

  function page(before: number | null): Promise<SessionPage> {
    return api.get<SessionPage>('/sessions', { archived: archived.value, search: search.value.trim(), before })
  }

  /** Fetch, and use what came if nothing else was asked for meanwhile. */
  async function latest(before: number | null, use: (found: SessionPage) => void): Promise<void> {
    const mine = (asked += 1)
    loading.value = true
    problem.value = null
    try {
      const found = await page(before)
      if (mine === asked) use(found)
    } catch (error) {
      if (mine === asked) problem.value = error
    } finally {
      if (mine === asked) loading.value = false
    }
  }

  function load(): Promise<void> {
    return latest(null, (found) => {
      sessions.value = found.sessions
      next.value = found.next
    })
  }

  function more(): Promise<void> {
    if (next.value === null) return Promise.resolve()
    return latest(next.value, (found) => {
      const known = new Set(sessions.value.map((session) => session.id))
      sessions.value = [...sessions.value, ...found.sessions.filter((session) => !known.has(session.id))]
      next.value = found.next
    })
  }

  /** Both lists as they are now, with what was loaded beyond the first page left where it is. */
  async function look(): Promise<void> {
    const before = asked
    const [found] = await Promise.all([page(null), lookAtRuns()])
    if (before !== asked || loading.value) return
    problem.value = null
    const last = found.sessions.at(-1)
    const fresh = new Set(found.sessions.map((session) => session.id))
    const beyond = (session: Session) => !!last && session.used_at < last.used_at && !fresh.has(session.id)
    const rest = found.next === null ? [] : sessions.value.filter(beyond)
    sessions.value = [...found.sessions, ...rest]
    if (!rest.length) next.value = found.next
  }

  async function lookAtRuns(): Promise<void> {
    open.value = bySession((await api.get<{ runs: RunSummary[] }>('/runs', { state: 'open', limit: 200 })).runs)
  }

  function activity(sessionId: string): Activity | null {
    const first = open.value.get(sessionId)?.[0]
    return first ? (first.ending === 'awaiting_approval' ? 'waiting' : 'working') : null
  }

  async function change(id: string, wish: { title?: string; archived?: boolean }): Promise<void> {
    const changed = await api.patch<Session>(`/sessions/${id}`, wish)
    const shown = (changed.archived_at !== null) === archived.value
    sessions.value = sessions.value.flatMap((session) => (session.id === id ? (shown ? [changed] : []) : [session]))
  }

  async function remove(id: string): Promise<void> {
    await api.remove(`/sessions/${id}`)
    sessions.value = sessions.value.filter((session) => session.id !== id)
  }

  /** Stop whatever is at work in it, and remove it when that has ended. */
  async function stopAndRemove(id: string): Promise<void> {
    await lookAtRuns()
    // One that has just ended cannot be stopped, and need not be.
    const stop = (run: RunSummary) => api.post(`/runs/${run.id}/commands`, { type: 'cancel' }).catch(() => undefined)
    await Promise.all((open.value.get(id) ?? []).map(stop))
    for (let looks = 0; looks < MOST_LOOKS && open.value.has(id); looks += 1) {
      await new Promise((resolve) => setTimeout(resolve, SOON))
      await lookAtRuns()
    }
    await remove(id)
  }

  function find(id: string): Session | undefined {
    return sessions.value.find((session) => session.id === id)
  }

  function watch(): () => void {
    const glance = () => {
      if (!document.hidden) void look().catch(() => undefined)
    }
    const me = useAccount().me?.id ?? ''
    if (me !== owner) {
      owner = me
      sessions.value = []
      open.value = new Map()
    }
    void load()
    void lookAtRuns().catch(() => undefined)
    timer ??= setInterval(glance, LOOK)
    document.addEventListener('visibilitychange', glance)
    return () => {
      clearInterval(timer)
      timer = undefined
      document.removeEventListener('visibilitychange', glance)
    }
  }
  return {
    sessions,
    archived,
    search,
    loading,
    problem,
    next,
    open,
    load,
    more,
    look,
    lookAtRuns,
    activity,
    change,
    remove,
    stopAndRemove,
    find,
    watch,
  }
})

function bySession(runs: readonly RunSummary[]): Map<string, RunSummary[]> {
  const open = new Map<string, RunSummary[]>()
  for (const run of runs.toReversed()) open.set(run.session_id, [...(open.get(run.session_id) ?? []), run])
  return open
}
