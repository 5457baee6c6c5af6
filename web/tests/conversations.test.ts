import { afterEach, describe, expect, it, vi } from 'vitest'

import ConversationItem from '@/components/chat/ConversationItem.vue'
import { useConversations } from '@/stores/conversations'

import { mounted, until, type Mounted } from './mounted'

const ID = '5f2b8c1d3e4a4f6b8c9d0e1f2a3b4c5d'
const session = { id: ID, title: 'Sales', created_at: 1, used_at: 1, archived_at: null }
let open: Mounted
afterEach(() => {
  open.close()
  vi.unstubAllGlobals()
})

describe('a conversation at work', () => {
  it('is removed once it was stopped, if one wants that', async () => {
    const asked: string[] = []
    let looks = 0
    let running = true
    vi.stubGlobal('fetch', (address: string, init: RequestInit) => {
      asked.push(`${init.method} ${address.split('?')[0]}`)
      if (address.includes('/commands')) return Promise.resolve(Response.json({ accepted: true }, { status: 202 }))
      if (address.includes('/runs')) {
        running &&= (looks += 1) < 3
        return Promise.resolve(Response.json({ runs: running ? [{ id: 'r', session_id: ID, ending: null }] : [] }))
      }
      const busy = { code: 'session_busy', params: { session: ID }, detail: '' }
      return Promise.resolve(running ? Response.json(busy, { status: 409 }) : new Response(null, { status: 204 }))
    })
    const remove = (stopping: boolean) => {
      const list = useConversations()
      return stopping ? list.stopAndRemove(ID) : list.remove(ID)
    }
    const change = () => Promise.resolve()
    open = mounted(ConversationItem, { session, current: false, activity: 'working', change, remove })
    const press = (mark: string) => open.root.querySelector<HTMLElement>(`[data-test=${mark}]`)?.click()
    for (const mark of ['conversation-actions', 'delete', 'delete-confirmed', 'stop-and-delete']) {
      await until(() => open.root.querySelector(`[data-test=${mark}]`) !== null)
      press(mark)
    }
    expect(open.root.querySelector('[role=alert]')?.textContent).toContain('It is at work')
    expect(open.root.textContent).not.toContain(ID)
    await until(() => open.root.querySelector('[role=alert]') === null)
    expect(asked).toEqual([
      `DELETE /api/v1/sessions/${ID}`,
      'GET /api/v1/runs',
      'POST /api/v1/runs/r/commands',
      'GET /api/v1/runs',
      'GET /api/v1/runs',
      `DELETE /api/v1/sessions/${ID}`,
    ])
  })
})
