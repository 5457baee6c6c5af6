import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, nextTick, ref, watch, type EffectScope } from 'vue'

import { useConversation, type Conversation } from '@/composables/useConversation'
import type { LiveRun } from '@/run/live'

import { ChatServer } from './chatServer'

let server: ChatServer
let scope: EffectScope
const sessionId = ref('s')
const frames: (() => void)[] = []

function open(wishes: Parameters<typeof useConversation>[1] = {}): Conversation {
  return scope.run(() => useConversation(sessionId, wishes)) as Conversation
}

/** Frames that are drawn when the test says so. */
const held = (draw: () => void) => void frames.push(draw)

function textOf(run: LiveRun | undefined): string {
  const step = run?.view.value.items.find((item) => item.kind === 'step')
  return step?.kind === 'step' ? step.text : ''
}

function see(hidden: boolean): void {
  vi.spyOn(document, 'hidden', 'get').mockReturnValue(hidden)
  document.dispatchEvent(new Event('visibilitychange'))
}

beforeEach(() => {
  server = new ChatServer()
  scope = effectScope()
  sessionId.value = 's'
  frames.length = 0
})
afterEach(() => {
  scope.stop()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

describe('a conversation', () => {
  it('is drawn from its newest page, and older pages come ahead of it', async () => {
    for (let number = 1; number <= 5; number += 1) server.answered(`r${number}`, `task ${number}`, `answer ${number}`)
    const { runs, older, loadOlder } = open()
    await vi.waitFor(() => expect(runs.value.map((run) => run.id)).toEqual(['r4', 'r5']))
    expect(textOf(runs.value[1])).toBe('answer 5')
    const seen = runs.value[0]
    await loadOlder()
    await loadOlder()
    expect(runs.value.map((run) => run.id)).toEqual(['r1', 'r2', 'r3', 'r4', 'r5'])
    expect(runs.value[3]).toBe(seen)
    expect(older.value).toBe(false)
    expect(server.asked.filter((path) => path.includes('/events'))).toEqual([])
  })

  it('asks for an older page once, however often it is wished for', async () => {
    for (let number = 1; number <= 5; number += 1) server.answered(`r${number}`, 't', 'a')
    const { runs, loadOlder } = open()
    await vi.waitFor(() => expect(runs.value).toHaveLength(2))
    await Promise.all([loadOlder(), loadOlder(), loadOlder()])
    expect(runs.value).toHaveLength(4)
  })

  it('tells every word once across a connection that breaks', async () => {
    server.run('r', 'go')
    server.begins('r', 'go')
    const { runs } = open()
    await vi.waitFor(() => expect(server.following('r')).toBe(1))
    server.writes('r', 'one ')
    server.writes('r', 'two ')
    await vi.waitFor(() => expect(textOf(runs.value[0])).toBe('one two '))
    server.cut('r')
    server.writes('r', 'three ')
    await vi.waitFor(() => expect(runs.value[0]?.connected.value).toBe(false))
    server.writes('r', 'four')
    await vi.waitFor(() => expect(textOf(runs.value[0])).toBe('one two three four'), 5000)
    expect(server.cursors).toEqual(['3', '3.2'])
    server.cut('r')
    server.replies('r', 'one two three four')
    await vi.waitFor(() => expect(runs.value[0]?.view.value.ending).toBe('answered'), 5000)
    expect(textOf(runs.value[0])).toBe('one two three four')
    expect(runs.value[0]?.view.value.items).toHaveLength(2)
  })

  it('folds what comes at most once in a frame', async () => {
    server.run('r', 'go')
    server.begins('r', 'go')
    const { runs } = open({ frame: held })
    await vi.waitFor(() => expect(server.following('r')).toBe(1))
    const run = runs.value[0] as LiveRun
    let drawn = 0
    scope.run(() => watch(run.view, () => (drawn += 1), { flush: 'sync' }))
    for (let number = 0; number < 100; number += 1) server.writes('r', 'x')
    await vi.waitFor(() => expect(run.cursor()).toBe('3.100'))
    expect(frames).toHaveLength(1)
    expect(textOf(run)).toBe('')
    frames.shift()?.()
    expect(textOf(run)).toBe('x'.repeat(100))
    expect(drawn).toBe(1)
  })

  it('follows one run at a time, and the next one when that has ended', async () => {
    for (const id of ['first', 'second']) server.run(id, id)
    server.begins('first', 'first')
    const ended = vi.fn()
    const { runs } = open({ ended })
    await vi.waitFor(() => expect(server.following('first')).toBe(1))
    expect(server.following('second')).toBe(0)
    server.replies('first', 'done')
    await vi.waitFor(() => expect(server.following('second')).toBe(1))
    expect(ended).toHaveBeenCalledTimes(1)
    server.begins('second', 'second')
    server.replies('second', 'done too')
    await vi.waitFor(() => expect(textOf(runs.value[1])).toBe('done too'))
  })

  it('leaves the stream of the conversation that one goes away from', async () => {
    server.run('r', 'go')
    server.begins('r', 'go')
    const { runs } = open()
    await vi.waitFor(() => expect(server.following('r')).toBe(1))
    sessionId.value = ''
    await nextTick()
    expect(runs.value).toEqual([])
    await vi.waitFor(() => expect(server.following('r')).toBe(0))
  })

  it('gives its connection back when it is not seen for a minute, and takes it up where it was', async () => {
    server.run('r', 'go')
    server.begins('r', 'go')
    const { runs } = open()
    await vi.waitFor(() => expect(server.following('r')).toBe(1))
    server.writes('r', 'one ')
    await vi.waitFor(() => expect(textOf(runs.value[0])).toBe('one '))
    vi.useFakeTimers()
    see(true)
    vi.advanceTimersByTime(59_000)
    expect(server.following('r')).toBe(1)
    vi.advanceTimersByTime(2_000)
    vi.useRealTimers()
    await vi.waitFor(() => expect(server.following('r')).toBe(0))
    server.writes('r', 'two')
    see(false)
    await vi.waitFor(() => expect(textOf(runs.value[0])).toBe('one two'))
    expect(server.cursors.at(-1)).toBe('3.1')
  })

  it('finds what was begun in another window, and says what it missed', async () => {
    server.answered('r1', 'here', 'a')
    const { runs, catchUp } = open()
    await vi.waitFor(() => expect(runs.value).toHaveLength(1))
    server.run('r2', 'there')
    server.begins('r2', 'there')
    await catchUp()
    expect(runs.value.map((run) => run.id)).toEqual(['r1', 'r2'])
    await vi.waitFor(() => expect(server.following('r2')).toBe(1))
    server.writes('r2', 'live')
    await vi.waitFor(() => expect(textOf(runs.value[1])).toBe('live'))
  })

  it('says so when it is not there', async () => {
    sessionId.value = 's'
    vi.stubGlobal('fetch', () =>
      Promise.resolve(Response.json({ code: 'session_not_found', params: {}, detail: 'no' }, { status: 404 })),
    )
    const { problem, loading } = open()
    await vi.waitFor(() => expect(loading.value).toBe(false))
    expect(problem.value).toMatchObject({ code: 'session_not_found' })
  })
})
