import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { defineComponent, ref } from 'vue'

import { useChat } from '@/composables/useChat'

import { ChatServer } from './chatServer'
import { mounted, type Mounted } from './mounted'

const Page = defineComponent(() => {
  useChat(ref('s'))
  return () => null
})
let server: ChatServer
let open: Mounted

beforeEach(() => {
  server = new ChatServer()
})
afterEach(() => {
  open.close()
  vi.unstubAllGlobals()
})

describe('the chat', () => {
  it('has the inbox looked at as soon as its run waits for somebody, and as soon as it does no more', async () => {
    const looks = () => server.asked.filter((path) => path.startsWith('/api/v1/approvals')).length
    server.run('r', 'charge it')
    server.begins('r', 'charge it')
    open = mounted(Page, {})
    await vi.waitFor(() => expect(server.following('r')).toBe(1))
    server.happens('r', { type: 'run_paused', waiting: ['r.1'] })
    await vi.waitFor(() => expect(looks()).toBe(1))
    const expired = { type: 'expire' as const }
    server.happens('r', { type: 'approval_decided', approval_id: 'r.1', decision: expired, by: '' })
    await vi.waitFor(() => expect(looks()).toBe(2))
  })
})
