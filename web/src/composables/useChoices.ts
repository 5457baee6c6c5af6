/** The names that a list of runs can be narrowed by: agents and models of the installation. */
import { onMounted, ref } from 'vue'

import { api } from '@/api/client'

interface Named {
  name: string
}

export function useChoices() {
  const agents = ref<string[]>([])
  const models = ref<string[]>([])
  const names = (all: readonly Named[]) => all.map((each) => each.name)

  onMounted(() => {
    // Without them the list can be read all the same.
    void api.get<{ agents: Named[] }>('/agents').then(
      (found) => (agents.value = names(found.agents)),
      () => undefined,
    )
    void api.get<{ models: Named[] }>('/models').then(
      (found) => (models.value = names(found.models)),
      () => undefined,
    )
  })
  return { agents, models }
}
