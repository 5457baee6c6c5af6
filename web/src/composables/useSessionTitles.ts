/** What conversations are called, each asked for once. One that is not one's own has no title here. */
import { reactive } from 'vue'

import { api, ProblemError } from '@/api/client'
import type { Session } from '@/api/types'

/** `null`: it is somebody else's, or gone. */
export function useSessionTitles() {
  const titles = reactive(new Map<string, string | null>())
  const asked = new Set<string>()

  async function learn(ids: Iterable<string>): Promise<void> {
    const fresh = [...new Set(ids)].filter((id) => !asked.has(id))
    for (const id of fresh) asked.add(id)
    await Promise.all(fresh.map(ask))
  }

  async function ask(id: string): Promise<void> {
    try {
      titles.set(id, (await api.get<Session>(`/sessions/${encodeURIComponent(id)}`)).title)
    } catch (error) {
      if (error instanceof ProblemError && error.status === 404) titles.set(id, null)
      else asked.delete(id)
    }
  }
  return { titles, learn }
}
