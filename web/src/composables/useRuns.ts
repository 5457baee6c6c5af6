/** The list of runs that fit a filter, page by page; the newest page is looked at again and again while it is seen. */
import { onScopeDispose, ref, shallowRef, watch } from 'vue'

import { api } from '@/api/client'
import type { RunSummary } from '@/api/types'

export interface RunFilter {
  /** An ending, `open` for all that are not over, or empty. */
  ending: string
  agent: string
  model: string
  search: string
  session: string
}

interface RunPage {
  runs: RunSummary[]
  next: number | null
}

const PAGE = 50
/** Milliseconds between two looks: while a run of the list is open, and while none is. */
const OFTEN = 3000
const SELDOM = 15_000
/** Open runs of older pages that are looked at one by one. */
const MOST_OLDER = 5

export function useRuns(filter: () => RunFilter) {
  const runs = shallowRef<RunSummary[]>([])
  const next = ref<number | null>(null)
  const loading = ref(true)
  const problem = shallowRef<unknown>(null)
  let turn = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  function page(before?: number | null): Promise<RunPage> {
    const { ending, ...rest } = filter()
    const how = ending === 'open' ? { state: 'open' } : { ending }
    return api.get<RunPage>('/runs', { ...rest, ...how, before, limit: PAGE })
  }

  async function load(): Promise<void> {
    const mine = (turn += 1)
    loading.value = true
    problem.value = null
    try {
      const found = await page()
      if (mine !== turn) return
      runs.value = found.runs
      next.value = found.next
    } catch (error) {
      if (mine === turn) problem.value = error
    } finally {
      if (mine === turn) loading.value = false
      again()
    }
  }

  async function more(): Promise<void> {
    if (next.value === null || loading.value) return
    const mine = turn
    loading.value = true
    problem.value = null
    try {
      const found = await page(next.value)
      if (mine !== turn) return
      const known = new Set(runs.value.map((run) => run.id))
      runs.value = [...runs.value, ...found.runs.filter((run) => !known.has(run.id))]
      next.value = found.next
    } catch (error) {
      if (mine === turn) problem.value = error
    } finally {
      if (mine === turn) loading.value = false
    }
  }

  function again(): void {
    clearTimeout(timer)
    const open = runs.value.some((run) => run.ended_at === null)
    timer = setTimeout(() => void look(), open ? OFTEN : SELDOM)
  }

  /** The newest page anew: what has come and what has changed. Older ones stay as they are, but for those that were open. */
  async function look(): Promise<void> {
    const mine = turn
    try {
      if (document.hidden || loading.value) return
      const found = await page()
      const oldest = found.next === null ? 0 : (found.runs.at(-1)?.created_at ?? 0)
      const inPage = new Set(found.runs.map((run) => run.id))
      const older = await Promise.all(
        runs.value
          .filter((run) => !inPage.has(run.id) && (run.created_at < oldest || matchesNoMore(run)))
          .map((run, place) => (run.ended_at === null && place < MOST_OLDER ? looked(run) : run)),
      )
      if (mine === turn && !loading.value)
        runs.value = [...found.runs, ...older].toSorted((one, other) => other.created_at - one.created_at)
    } catch {
      // The list stays as it is; the next look tries again.
    } finally {
      if (mine === turn) again()
    }
  }

  /** A run that was shown as open and fits no more because it ended meanwhile is not taken away under the reader's eyes. */
  function matchesNoMore(run: RunSummary): boolean {
    return run.ended_at === null || filter().ending !== ''
  }

  async function looked(run: RunSummary): Promise<RunSummary> {
    const now = await api.get<RunSummary>(`/runs/${run.id}`).catch(() => run)
    return { ...run, ending: now.ending, ended_at: now.ended_at }
  }

  watch(
    () => JSON.stringify(filter()),
    () => void load(),
    { immediate: true },
  )
  onScopeDispose(() => {
    turn += 1
    clearTimeout(timer)
  })
  return { runs, next, loading, problem, more, reload: load }
}
