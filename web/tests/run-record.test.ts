import { effectScope, nextTick } from 'vue'
import { afterEach, describe, expect, it, vi } from 'vitest'

import { useRunRecord } from '@/composables/useRunRecord'

const event = (seq: number, type: string, more = {}) => ({ seq, at: seq * 100, type, ...more })
const ENDED = event(4, 'run_ended', { ending: 'answered', code: 'answered', params: {}, steps: 1, done: [], failed: [] })
const STARTED = event(1, 'run_started', { agent: 'default', model: 'offline', max_steps: 10, tools: [] })
const STEP = event(2, 'step_started', { step: 1, attempt: 1, final: false, hidden: [] })
const SAID = event(3, 'user_said', { parts: [] })

/** The server: what it answers to each path, and what it was asked. */
function server(answers: Record<string, () => Response>) {
  const asked: string[] = []
  vi.stubGlobal('fetch', async (address: string, wish: { headers: Record<string, string> }) => {
    asked.push(address + (wish.headers['last-event-id'] ? ` behind ${wish.headers['last-event-id']}` : ''))
    const found = Object.keys(answers).find((path) => address === `/api/v1${path}`)
    return found ? (answers[found]?.() ?? new Response(null, { status: 500 })) : new Response('{}', { status: 404 })
  })
  return asked
}
const json = (body: unknown) => () => new Response(JSON.stringify(body))
const stream =
  (...told: { id: string; data: unknown }[]) =>
  () =>
    new Response(told.map(({ id, data }) => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`).join(''))

describe('a run with its events', () => {
  const scope = effectScope()
  afterEach(() => vi.unstubAllGlobals())

  it('is read page by page to its end, and not followed when it is over', async () => {
    const asked = server({
      '/runs/r': json({ id: 'r', ended_at: 400 }),
      '/runs/r/events?format=json&limit=200': json({ events: [STARTED, STEP], next: 2 }),
      '/runs/r/events?format=json&limit=200&after=2': json({ events: [SAID, ENDED], next: null }),
    })
    const run = scope.run(() => useRunRecord(() => 'r'))
    await vi.waitFor(() => expect(run?.loading.value).toBe(false))
    expect(run?.records.value.map((record) => record.seq)).toEqual([1, 2, 3, 4])
    expect(run?.view.value).toMatchObject({ ending: 'answered', model: 'offline', endedAt: 400 })
    expect(asked).not.toContain('/api/v1/runs/r/events')
  })

  it('is followed from its last event on while it is open, and keeps no piece of an answer as a record', async () => {
    const asked = server({
      '/runs/r': json({ id: 'r', ended_at: null }),
      '/runs/r/events?format=json&limit=200': json({ events: [STARTED, STEP], next: null }),
      '/runs/r/events': stream(
        { id: '2', data: STEP },
        { id: '2.1', data: { type: 'text_delta', step: 1, text: 'Hel' } },
        { id: '4', data: ENDED },
      ),
    })
    const run = scope.run(() => useRunRecord(() => 'r'))
    await vi.waitFor(() => expect(run?.view.value.ending).toBe('answered'))
    expect(asked).toContain('/api/v1/runs/r/events behind 2')
    expect(run?.records.value.map((record) => record.seq)).toEqual([1, 2, 4])
    expect(run?.view.value.items).toMatchObject([{ kind: 'step', text: 'Hel' }])
  })

  it('says what went wrong and can be asked for again', async () => {
    server({})
    const run = scope.run(() => useRunRecord(() => 'r'))
    await vi.waitFor(() => expect(run?.problem.value).toMatchObject({ status: 404 }))
    server({
      '/runs/r': json({ id: 'r', ended_at: 400 }),
      '/runs/r/events?format=json&limit=200': json({ events: [STARTED, ENDED], next: null }),
    })
    await run?.again()
    await nextTick()
    expect(run?.problem.value).toBeNull()
    expect(run?.records.value).toHaveLength(2)
  })
})
