/** The models of the installation: listed, tried, saved, removed. */
import { onMounted, ref, shallowRef } from 'vue'

import { api } from '@/api/client'
import type { components } from '@/api/schema.gen'
import type { PublicSettings } from '@/api/types'
import { useAccount } from '@/stores/account'

type Schemas = components['schemas']
/** A model that may be asked for. Its address is told only where it was saved on the page, its key never. */
export type KnownModel = Schemas['ModelSummary']
export type ModelList = Schemas['ModelList']
/** What became of trying a model. */
export type Trial = Schemas['ModelTrial']
export type Protocol = KnownModel['protocol']
export type Family = 'openai' | 'responses' | 'anthropic'

/** What a person fills in. An empty key leaves the kept one as it is. */
export interface ModelDraft {
  name: string
  family: Family
  model: string
  base_url: string
  api_key: string
  /** The kept key is to go. */
  no_key: boolean
  protocol: Protocol
}

export function emptyDraft(): ModelDraft {
  return { name: '', family: 'openai', model: '', base_url: '', api_key: '', no_key: false, protocol: 'auto' }
}

/** A kept model in the form: its key stays where it is. */
export function draftOf(model: KnownModel): ModelDraft {
  return {
    ...emptyDraft(),
    name: model.name,
    family: model.family as Family,
    model: model.model ?? '',
    base_url: model.base_url ?? '',
    protocol: model.protocol,
  }
}

/** What is sent of a draft. The key only when there is something to say about it. */
export function bodyOf(draft: ModelDraft): Record<string, string> {
  const body: Record<string, string> = { family: draft.family, model: draft.model.trim(), protocol: draft.protocol }
  if (draft.base_url.trim()) body['base_url'] = draft.base_url.trim()
  if (draft.api_key.trim()) body['api_key'] = draft.api_key.trim()
  else if (draft.no_key) body['api_key'] = ''
  return body
}

export function useModels() {
  const account = useAccount()
  const list = shallowRef<ModelList | null>(null)
  const problem = shallowRef<unknown>(null)
  const loading = ref(false)

  async function load(): Promise<void> {
    loading.value = true
    try {
      list.value = await api.get<ModelList>('/models')
      problem.value = null
    } catch (error) {
      problem.value = error
    } finally {
      loading.value = false
    }
  }

  /** Other parts of the page name the default model too. */
  async function changed(): Promise<void> {
    await load()
    account.settings = await api.get<PublicSettings>('/settings')
  }

  /** Try a model as it is kept. */
  function tryKept(name: string): Promise<Trial> {
    return api.post<Trial>('/models/test', { name })
  }

  /** Try what is in the form; `kept` when it changes a model that is saved already. */
  function tryDraft(draft: ModelDraft, kept: boolean): Promise<Trial> {
    return api.post<Trial>('/models/test', kept ? { name: draft.name, ...bodyOf(draft) } : bodyOf(draft))
  }

  async function save(draft: ModelDraft, asDefault: boolean): Promise<void> {
    await api.put(`/models/${encodeURIComponent(draft.name.trim())}`, { ...bodyOf(draft), default: asDefault })
    await changed()
  }

  async function remove(name: string): Promise<void> {
    await api.remove(`/models/${encodeURIComponent(name)}`)
    await changed()
  }

  onMounted(load)
  return { list, problem, loading, load, tryKept, tryDraft, save, remove }
}
