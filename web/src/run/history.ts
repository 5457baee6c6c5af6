/** A conversation as the server keeps it, page by page: its runs with their events. Knows nothing of what is drawn or followed. */
import { api } from '@/api/client'
import { resolved } from '@/api/follow'
import type { Event, RunSummary, StreamItem } from '@/api/types'

/** A run with its events so far, large ones fetched. */
export interface KeptRun {
  run: RunSummary
  events: Event[]
}

/** Runs of a conversation, the newest last. `before` asks for the page of those ahead of them; `null` on the first one. */
export interface HistoryPage {
  runs: KeptRun[]
  before: string | null
}

interface SentPage {
  runs: { run: RunSummary; events: StreamItem[] }[]
  before: string | null
}

export async function historyPage(
  sessionId: string,
  wish: { before?: string | null; limit?: number } = {},
  signal?: AbortSignal,
): Promise<HistoryPage> {
  const query = { before: wish.before ?? null, limit: wish.limit ?? null }
  const page = await api.get<SentPage>(`/sessions/${sessionId}/history`, query, signal)
  const runs = page.runs.map(async ({ run, events }) => ({ run, events: await whole(events, signal) }))
  return { runs: await Promise.all(runs), before: page.before }
}

/** Every run of a conversation, the oldest first. */
export async function wholeHistory(sessionId: string, signal?: AbortSignal): Promise<KeptRun[]> {
  const runs: KeptRun[] = []
  for (let before: string | null = null; ;) {
    const page = await historyPage(sessionId, { before, limit: 100 }, signal)
    runs.unshift(...page.runs)
    if (!page.before) return runs
    before = page.before
  }
}

async function whole(events: StreamItem[], signal?: AbortSignal): Promise<Event[]> {
  const told = await Promise.all(events.map((event) => resolved(event, signal)))
  return told.filter((each): each is Event => 'seq' in each)
}
