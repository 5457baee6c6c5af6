/**
 * The conversation that is looked at: its runs, older ones as they are asked for, and the one that is on as it goes.
 * One stream at a time: browsers keep only a handful of connections, and what is queued has nothing to tell.
 */
import { onScopeDispose, ref, shallowRef, watch, type Ref, type ShallowRef } from 'vue'

import { ProblemError } from '@/api/client'
import { follow } from '@/api/follow'
import type { RunSummary } from '@/api/types'
import { historyPage, type HistoryPage, type KeptRun } from '@/run/history'
import { isOpen, liveRun, nextFrame, type Frame, type LiveRun } from '@/run/live'

/** Milliseconds after which a page that is not seen gives its connection back. */
const UNSEEN = 60_000
/** Milliseconds after which a server that was not there is asked again. */
const AGAIN = 3_000

interface Wishes {
  /** A run has come to its end, or cannot be followed any further. */
  ended?: (run: LiveRun) => void
  frame?: Frame
}

export interface Conversation {
  runs: ShallowRef<LiveRun[]>
  loading: Ref<boolean>
  loadingOlder: Ref<boolean>
  /** Whether there are runs ahead of those loaded. */
  older: Ref<boolean>
  problem: ShallowRef<unknown>
  reload: () => Promise<void>
  loadOlder: () => Promise<void>
  /** Look whether there is more than is known, and follow it. */
  catchUp: () => Promise<void>
  /** A run that was just begun here. */
  add: (summary: RunSummary) => void
  find: (runId: string) => LiveRun | undefined
}

export function useConversation(sessionId: Ref<string>, { ended, frame = nextFrame }: Wishes = {}): Conversation {
  const runs = shallowRef<LiveRun[]>([])
  const loading = ref(false)
  const loadingOlder = ref(false)
  const older = ref(false)
  const problem = shallowRef<unknown>(null)
  let before: string | null = null
  let place = new AbortController()
  let stream: AbortController | null = null
  let parked = false
  const lost = new Set<string>()

  const made = ({ run, events }: KeptRun) => liveRun(run, events, frame)
  const find = (runId: string) => runs.value.find((run) => run.id === runId)

  function leave(): void {
    place.abort()
    stream?.abort()
    place = new AbortController()
    stream = null
    lost.clear()
    runs.value = []
    before = null
    older.value = loading.value = loadingOlder.value = false
    problem.value = null
  }

  async function reload(): Promise<void> {
    leave()
    if (!sessionId.value) return
    loading.value = true
    const { signal } = place
    await fetched(null, replace)
    if (signal.aborted) return
    if (unreachable(problem.value)) setTimeout(() => signal.aborted || void reload(), AGAIN)
    void followNext()
  }

  /** A page, unless another conversation is looked at by then. */
  async function fetched(ahead: string | null, use: (page: HistoryPage) => void): Promise<void> {
    const { signal } = place
    try {
      const page = await historyPage(sessionId.value, { before: ahead }, signal)
      if (!signal.aborted) use(page)
    } catch (error) {
      if (!signal.aborted) problem.value = error
    } finally {
      if (!signal.aborted) loading.value = loadingOlder.value = false
    }
  }

  function replace(page: HistoryPage): void {
    stream?.abort()
    stream = null
    runs.value = page.runs.map(made)
    before = page.before
    older.value = before !== null
  }

  async function loadOlder(): Promise<void> {
    if (!before || loadingOlder.value) return
    loadingOlder.value = true
    problem.value = null
    await fetched(before, (page) => {
      runs.value = [...page.runs.map(made), ...runs.value]
      before = page.before
      older.value = before !== null
    })
  }

  async function catchUp(): Promise<void> {
    if (!sessionId.value || loading.value) return
    problem.value = null
    await fetched(null, merge)
    void followNext()
  }

  function merge(page: HistoryPage): void {
    if (page.before && !page.runs.some(({ run }) => find(run.id))) return replace(page)
    const fresh = page.runs.filter(({ run, events }) => {
      const known = find(run.id)
      known?.take(run, events)
      return !known
    })
    if (fresh.length) {
      const all = [...runs.value, ...fresh.map(made)]
      runs.value = all.sort((one, other) => one.summary.value.created_at - other.summary.value.created_at)
    }
  }

  function add(summary: RunSummary): void {
    if (!find(summary.id)) runs.value = [...runs.value, liveRun(summary, [], frame)]
    void followNext()
  }

  async function followNext(): Promise<void> {
    const run = runs.value.find((each) => isOpen(each) && !lost.has(each.id))
    if (stream || parked || !run) return
    const mine = (stream = new AbortController())
    const connected = (now: boolean) => {
      run.connected.value = now
      if (now) problem.value = null
    }
    try {
      await follow(run.id, run.cursor(), { tell: run.tell, connected }, mine.signal)
    } catch (error) {
      if (!mine.signal.aborted) problem.value = error
    }
    run.flush()
    run.connected.value = null
    if (mine.signal.aborted) return
    stream = null
    // Not told of its end, yet there is no more to be had: whatever became of it stands in the history.
    if (isOpen(run)) lost.add(run.id)
    if (isOpen(run) && !refused(problem.value)) await catchUp()
    else void followNext()
    ended?.(run)
  }

  const stopWatching = whileUnseen(
    () => {
      parked = true
      stream?.abort()
      stream = null
    },
    () => {
      parked = false
      void catchUp()
    },
  )
  watch(sessionId, reload, { immediate: true })
  onScopeDispose(() => {
    stopWatching()
    leave()
  })
  return { runs, loading, loadingOlder, older, problem, reload, loadOlder, catchUp, add, find }
}

function unreachable(problem: unknown): boolean {
  return problem instanceof ProblemError && (problem.status === 0 || problem.status >= 500)
}

function refused(problem: unknown): boolean {
  return problem instanceof ProblemError && problem.status >= 400
}

/** Calls `park` when the page was not seen for a minute, and `back` when it is seen again after that. */
function whileUnseen(park: () => void, back: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let away = false
  const changed = () => {
    clearTimeout(timer)
    if (document.hidden) {
      timer = setTimeout(() => {
        away = true
        park()
      }, UNSEEN)
    } else if (away) {
      away = false
      back()
    }
  }
  document.addEventListener('visibilitychange', changed)
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', changed)
  }
}
