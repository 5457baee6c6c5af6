/** Who is asking, and what the installation says of itself. */
import { defineStore } from 'pinia'
import { computed, ref, shallowRef } from 'vue'

import { api, onLoggedOut, ProblemError, useCsrf } from '@/api/client'
import type { Me, PublicSettings, Version } from '@/api/types'
import { takeToken } from '@/arrival'

export type Proof = { token: string } | { name: string; password: string; team: string | null }

export const useAccount = defineStore('account', () => {
  const me = ref<Me | null>(null)
  /** How one logs in here; known before anybody has. */
  const mode = ref<Me['mode'] | null>(null)
  /** Whether somebody was logged in, and the server knows them no longer. */
  const ended = ref(false)
  const settings = ref<PublicSettings | null>(null)
  /** Why the printed address did not let anybody in. */
  const refused = shallowRef<unknown>(null)
  const admin = computed(() => me.value?.rights.includes('admin') ?? false)
  onLoggedOut(() => {
    ended.value ||= me.value !== null
    me.value = null
  })

  async function arrive(): Promise<void> {
    const token = takeToken()
    if (token) await logIn({ token }).catch((error: unknown) => (refused.value = error))
    if (!me.value) await recognise()
  }

  async function recognise(): Promise<void> {
    try {
      await known(await api.get<Me>('/me'))
    } catch (error) {
      if (!(error instanceof ProblemError) || error.status !== 401) throw error
      mode.value = (await api.get<Version>('/version')).mode
    }
  }

  async function known(answer: Me): Promise<void> {
    useCsrf(answer.csrf)
    refused.value = null
    ended.value = false
    mode.value = answer.mode
    me.value = answer
    settings.value = await api.get<PublicSettings>('/settings')
  }

  async function logIn(proof: Proof): Promise<void> {
    await known(await api.post<Me>('/login', proof))
  }

  async function logOut(): Promise<void> {
    await api.post('/logout')
    me.value = null
  }
  return { me, mode, ended, settings, admin, refused, arrive, logIn, logOut, recognise }
})
