/** The users of one's team, for its admins. */
import { onMounted, shallowRef } from 'vue'

import { api } from '@/api/client'
import type { Member } from '@/api/types'

export type Role = 'admin' | 'member'

export interface NewUser {
  name: string
  password: string
  role: Role
}

export function useUsers() {
  const users = shallowRef<Member[] | null>(null)
  const problem = shallowRef<unknown>(null)

  async function load(): Promise<void> {
    try {
      users.value = (await api.get<{ users: Member[] }>('/users')).users
      problem.value = null
    } catch (error) {
      problem.value = error
    }
  }

  async function changing(change: Promise<unknown>): Promise<void> {
    await change
    await load()
  }

  const add = (user: NewUser) => changing(api.post('/users', user))
  const disable = (id: string, disabled: boolean) => changing(api.put(`/users/${id}/disabled`, { disabled }))
  const setRole = (id: string, role: Role) => changing(api.put(`/users/${id}/role`, { role }))
  const setPassword = (id: string, password: string) => changing(api.put(`/users/${id}/password`, { password }))

  onMounted(load)
  return { users, problem, load, add, disable, setRole, setPassword }
}
