import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { nextTick } from 'vue'

import { api } from '@/api/client'
import type { Me } from '@/api/types'
import LoginForm from '@/components/LoginForm.vue'
import { useAccount } from '@/stores/account'

import { mounted, type Mounted } from './mounted'

let mode: Me['mode']
let known = false
let open: Mounted | undefined

function answer(address: string): Response {
  if (address.endsWith('/version')) return Response.json({ version: '1', api: 'v1', mode })
  if (!known) return Response.json({ code: 'credential_missing', params: {}, detail: '' }, { status: 401 })
  return Response.json(address.endsWith('/me') ? { id: 'ada', name: 'ada', mode, rights: [], csrf: 'c' } : {})
}

beforeEach(() => {
  known = false
  vi.stubGlobal('fetch', (address: string) => Promise.resolve(answer(address)))
})
afterEach(() => {
  open?.close()
  vi.unstubAllGlobals()
})

/** The form as it is drawn for whoever arrives. */
async function arrived(): Promise<HTMLElement> {
  open = mounted(LoginForm, {})
  await useAccount().arrive()
  await nextTick()
  return open.root
}
const fields = (root: HTMLElement) =>
  [...root.querySelectorAll<HTMLElement>('label [data-test]')].map((each) => each.dataset['test'])

describe('the login', () => {
  it('asks for nothing but the token where one person has all', async () => {
    mode = 'local'
    const root = await arrived()
    expect(fields(root)).toEqual(['login-token'])
    expect(root.textContent).not.toContain('`')
  })

  it('asks for name and password where there are accounts', async () => {
    mode = 'team'
    expect(fields(await arrived())).toEqual(['login-name', 'login-password', 'login-team'])
  })

  it('says that a login has ended to whoever had one', async () => {
    mode = 'team'
    known = true
    const root = await arrived()
    const ended = () => root.querySelector('[data-test=login-ended]')
    expect(ended()).toBeNull()
    known = false
    await api.get('/runs').catch(() => undefined)
    await nextTick()
    expect(ended()?.textContent).toContain('has ended')
    await useAccount()
      .logIn({ token: 'x' })
      .catch(() => undefined)
    expect(ended()).not.toBeNull()
    known = true
    await useAccount().logIn({ token: 'x' })
    await nextTick()
    expect(ended()).toBeNull()
  })
})
