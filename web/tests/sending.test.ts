import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { reactive } from 'vue'

import { emptyDraft, type Draft } from '@/composables/useDrafts'
import { useSending } from '@/composables/useSending'
import { freeName } from '@/composables/useUploads'

interface Asked {
  path: string
  key: string | null
  body: Record<string, unknown>
}

const asked: Asked[] = []
/** What the server does next; when there is nothing left, it begins a run. */
const answers: (() => Response)[] = []
let draft: Draft
let on = false

const lost = () => {
  throw new TypeError('network error')
}
const problem = (status: number, code: string) => () => Response.json({ code, params: {}, detail: code }, { status })

function sending() {
  return useSending({ began: () => undefined, started: () => undefined, busy: () => on })
}

beforeEach(() => {
  asked.length = answers.length = 0
  on = false
  draft = reactive({ ...emptyDraft('s'), text: 'Add up' })
  vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener: () => undefined }))
  vi.stubGlobal('fetch', (address: string, init: RequestInit) => {
    const key = new Headers(init.headers).get('idempotency-key')
    asked.push({ path: address, key, body: JSON.parse(String(init.body)) as Record<string, unknown> })
    return Promise.resolve().then(
      answers.shift() ?? (() => Response.json({ run_id: 'r', session_id: 's', queued_behind: null }, { status: 202 })),
    )
  })
  setActivePinia(createPinia())
})
afterEach(() => vi.unstubAllGlobals())

describe('a task', () => {
  it('is sent once, however often one clicks', async () => {
    const { send } = sending()
    await Promise.all([send(draft), send(draft), send(draft)])
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({ path: '/api/v1/sessions/s/runs', body: { text: 'Add up', when_busy: 'queue' } })
    expect(draft.text).toBe('')
  })

  it('keeps its words and its name when there was no answer, so that no second run comes of it', async () => {
    const { send } = sending()
    answers.push(lost)
    expect(await send(draft)).toBe(false)
    expect(draft.text).toBe('Add up')
    expect(draft.problem).toMatchObject({ code: 'server_unreachable' })
    expect(await send(draft)).toBe(true)
    expect(draft.problem).toBe(null)
    expect(asked[1]?.key).toBe(asked[0]?.key)
    expect(asked[0]?.key).toMatch(/^[0-9a-f]{32}$/)
  })

  it('is another one with other words, and after it was refused', async () => {
    const { send } = sending()
    answers.push(lost, problem(422, 'agent_unknown'))
    await send(draft)
    draft.text = 'Add up, please'
    await send(draft)
    await send(draft)
    expect(new Set(asked.map((each) => each.key)).size).toBe(3)
  })

  it('is said to the run that is on, or waits for it, as one chose', async () => {
    const { send } = sending()
    on = true
    await send(draft)
    draft.text = 'And then that'
    draft.busy = 'queue'
    await send(draft)
    expect(asked.map((each) => each.body['when_busy'])).toEqual(['steer', 'queue'])
  })

  it('is given again without touching what is written', async () => {
    const { resend } = sending()
    on = true
    await resend(draft, { text: 'Earlier', files: ['sales.csv'] })
    expect(asked[0]?.body).toMatchObject({ text: 'Earlier', files: ['sales.csv'], when_busy: 'queue' })
    expect(draft.text).toBe('Add up')
  })

  it('without a conversation begins one, whose draft it was', async () => {
    draft = reactive({ ...emptyDraft(''), text: 'Hello' })
    await sending().send(draft)
    expect(asked[0]?.path).toBe('/api/v1/runs')
    expect(draft.sessionId).toBe('s')
  })
})

describe('the name of a file', () => {
  it('gets a number where it is taken', () => {
    expect(freeName('sales.csv', new Set())).toBe('sales.csv')
    expect(freeName('Sales.csv', new Set(['sales.csv', 'sales (2).csv']))).toBe('Sales (3).csv')
    expect(freeName('notes', new Set(['notes']))).toBe('notes (2)')
  })

  it('is one that the server takes', () => {
    expect(freeName('.env', new Set())).toBe('env')
    expect(freeName('a/b\\c\u0000.txt', new Set())).toBe('a_b_c_.txt')
    expect(freeName('...', new Set())).toBe('file')
    const long = freeName(`${'销'.repeat(200)}.xlsx`, new Set())
    expect(long.endsWith('.xlsx')).toBe(true)
    expect(new TextEncoder().encode(long).length).toBeLessThanOrEqual(200)
  })
})
