/** Which runs are listed: kept in the address, so that it can be shared and the browser's way back works. */
import { computed } from 'vue'
import { useRoute, useRouter, type LocationQueryValue } from 'vue-router'

import type { RunFilter } from './useRuns'

function text(value: LocationQueryValue | LocationQueryValue[] | undefined): string {
  return (Array.isArray(value) ? value[0] : value) ?? ''
}

export function useRunFilter() {
  const route = useRoute()
  const router = useRouter()
  const filter = computed<RunFilter>((last) => {
    // On the way to another page the address is that page's already.
    if (last && route.name !== 'runs') return last
    const { ending, agent, model, search, session } = route.query
    return { ending: text(ending), agent: text(agent), model: text(model), search: text(search), session: text(session) }
  })
  let typing = false

  function change(part: Partial<RunFilter>): void {
    const wanted = { ...filter.value, ...part }
    const query = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value))
    const search = Object.keys(part).join() === 'search'
    // A word that is being typed is one step for the way back, not one for each letter.
    void (search && typing ? router.replace({ query }) : router.push({ query }))
    typing = search
  }
  function clear(): void {
    typing = false
    void router.push({ query: {} })
  }
  return { filter, change, clear }
}
