/** What a run can be begun with: agents and models of the installation, asked for when one comes to write. */
import { onMounted, reactive } from 'vue'

import { api } from '@/api/client'
import type { AgentSummary } from '@/api/types'

/** A model by its name; `offline` is the mode without a language model. */
export interface ModelChoice {
  name: string
  offline: boolean
}

export interface Choices {
  /** The default one first. */
  agents: AgentSummary[]
  models: ModelChoice[]
  defaultModel: string
}

interface ModelList {
  models: ModelChoice[]
  default: string
}

export function useRunChoices(): Choices {
  const choices = reactive<Choices>({ agents: [], models: [], defaultModel: '' })
  onMounted(() => {
    // Without them one can write all the same: a run is done as the settings say.
    void api.get<{ agents: AgentSummary[] }>('/agents').then(
      ({ agents }) => (choices.agents = agents),
      () => undefined,
    )
    void api.get<ModelList>('/models').then(
      ({ models, default: name }) => {
        choices.models = models
        choices.defaultModel = name
      },
      () => undefined,
    )
  })
  return choices
}
