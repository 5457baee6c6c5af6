/** One run with all its events: read page by page, then followed while it is on. */
import { onScopeDispose, ref, shallowRef, watch } from 'vue'

import { api } from '@/api/client'
import { follow } from '@/api/follow'
import type { Event, RunReport, Told } from '@/api/types'
import { apply } from '@/run/reducer'
import { emptyRun, type RunView } from '@/run/view'

const PAGE = 200
/** Milliseconds in which what comes is gathered before it is shown. */
const GATHER = 60

export function useRunRecord(runId: () => string) {
  const report = shallowRef<RunReport | null>(null)
  const records = shallowRef<readonly Event[]>([])
  const view = shallowRef<RunView>(emptyRun(''))
  const problem = shallowRef<unknown>(null)
  const loading = ref(true)
  /** Events that were read so far. */
  const count = ref(0)
  const connected = ref(true)
  let leaving = new AbortController()

  async function begin(): Promise<void> {
    leaving.abort()
    const { signal } = (leaving = new AbortController())
    const id = runId()
    report.value = problem.value = null
    records.value = []
    count.value = 0
    view.value = emptyRun(id)
    loading.value = connected.value = true
    try {
      if (!id) return
      await look(id, signal)
      await read(id, signal)
      loading.value = false
      if (!signal.aborted && records.value.at(-1)?.type !== 'run_ended') await listen(id, signal)
    } catch (error) {
      if (!signal.aborted) problem.value = error
    } finally {
      if (!signal.aborted) loading.value = false
    }
  }

  async function look(id: string, signal: AbortSignal): Promise<void> {
    const found = await api.get<RunReport>(`/runs/${id}`, {}, signal)
    if (!signal.aborted) report.value = found
  }

  /** The first page is shown at once, the others together: a long run is drawn twice, not twenty times. */
  async function read(id: string, signal: AbortSignal): Promise<void> {
    const told: Event[] = []
    for (let after: number | null = 0; after !== null && !signal.aborted;) {
      const query: Record<string, string | number> = { format: 'json', limit: PAGE, after: after || '' }
      const page: { events: Event[]; next: number | null } = await api.get(`/runs/${id}/events`, query, signal)
      if (signal.aborted) return
      if (after === 0) take(page.events)
      else told.push(...page.events)
      count.value += page.events.length
      after = page.next
    }
    if (!signal.aborted) take(told)
  }

  function take(told: readonly Told[]): void {
    let next = view.value
    const fresh: Event[] = []
    for (const each of told) {
      if ('seq' in each && each.seq > next.seq) fresh.push(each)
      next = apply(next, each)
    }
    view.value = next
    if (fresh.length) records.value = [...records.value, ...fresh]
  }

  async function listen(id: string, signal: AbortSignal): Promise<void> {
    const waiting: Told[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const show = () => {
      clearTimeout(timer)
      timer = undefined
      const told = waiting.splice(0)
      if (signal.aborted || !told.length) return
      take(told)
      // What the report says beyond the events has changed: its cost, and what it waits for.
      const turns = told.some(
        (each) => each.type === 'run_ended' || each.type === 'run_paused' || each.type === 'model_replied',
      )
      if (turns) void look(id, signal).catch(() => undefined)
    }
    const last = records.value.at(-1)
    await follow(
      id,
      last ? String(last.seq) : '',
      {
        tell: (item) => {
          waiting.push(item)
          timer ??= setTimeout(show, GATHER)
        },
        connected: (now) => {
          if (!signal.aborted) connected.value = now
        },
      },
      signal,
    )
    show()
  }

  watch(runId, () => void begin(), { immediate: true })
  onScopeDispose(() => leaving.abort())
  return { report, records, view, problem, loading, count, connected, again: begin }
}
