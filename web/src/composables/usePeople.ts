/** The names behind the ids of users, as far as one may know them. Asked for once. */
import { shallowRef } from 'vue'
import { useI18n } from 'vue-i18n'

import { api } from '@/api/client'
import type { Member } from '@/api/types'
import { useAccount } from '@/stores/account'

const names = shallowRef<ReadonlyMap<string, string>>(new Map())
let asked = ''

export function usePeople() {
  const account = useAccount()
  const { t } = useI18n()

  async function ask(): Promise<void> {
    const { me } = account
    // Members of a team learn the names of others from its admins only.
    const asking = me?.mode === 'team' && account.admin ? `${me.team_id} ${me.id}` : ''
    if (asking === asked) return
    asked = asking
    names.value = new Map()
    if (!asking) return
    try {
      const { users } = await api.get<{ users: Member[] }>('/users')
      names.value = new Map(users.map(({ user }) => [user.id, user.name]))
    } catch {
      asked = ''
    }
  }
  void ask()

  function isMe(id: string): boolean {
    return account.me?.id === id
  }
  function nameOf(id: string): string {
    if (isMe(id)) return account.me?.name ?? id
    return id === 'local' ? t('approvals.operator') : (names.value.get(id) ?? id)
  }
  return { isMe, nameOf }
}
