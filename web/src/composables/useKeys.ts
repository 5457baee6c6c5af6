/** One's own keys for programs. */
import { onMounted, shallowRef } from 'vue'

import { api } from '@/api/client'
import type { Key } from '@/api/types'

export type Right = Key['rights'][number]

export interface NewKey {
  name: string
  rights: Right[]
  /** `null`: it does not expire. */
  days: number | null
}

export function useKeys() {
  const keys = shallowRef<Key[] | null>(null)
  const problem = shallowRef<unknown>(null)

  async function load(): Promise<void> {
    try {
      keys.value = (await api.get<{ keys: Key[] }>('/keys')).keys
      problem.value = null
    } catch (error) {
      problem.value = error
    }
  }

  /** Make a key; what programs send is told here once. */
  async function add(wanted: NewKey): Promise<string> {
    const made = await api.post<{ key: Key; secret: string }>('/keys', wanted)
    await load()
    return made.secret
  }

  async function revoke(id: string): Promise<void> {
    await api.remove(`/keys/${id}`)
    await load()
  }

  onMounted(load)
  return { keys, problem, load, add, revoke }
}
