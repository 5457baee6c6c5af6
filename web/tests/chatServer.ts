/** A server behind `fetch` for tests of the chat: keeps conversations with their runs, and streams as the real one does. */
import { vi } from 'vitest'

import type { Event, RunSummary, Told } from '@/api/types'

interface Frame {
  id: string
  item: Told
}

interface KeptRun {
  summary: RunSummary
  frames: Frame[]
}

type Unplaced<E> = E extends Event ? Omit<E, 'seq' | 'at'> : never

export class ChatServer {
  /** What was asked for, in order. */
  readonly asked: string[] = []
  /** The cursors with which streams began. */
  readonly cursors: string[] = []
  pageSize = 2
  private readonly runs: KeptRun[] = []
  private readonly readers = new Map<string, Set<ReadableStreamDefaultController<Uint8Array>>>()

  constructor() {
    vi.stubGlobal('fetch', (address: string, init: RequestInit = {}) => this.answer(address, init))
  }

  run(id: string, task: string): void {
    const summary = { id, session_id: 's', task, agent: 'default', model: 'm', created_at: this.runs.length + 1 }
    this.runs.push({ summary: { ...summary, ended_at: null, ending: null }, frames: [] })
  }

  /** Something happens in a run; whoever follows it is told. */
  happens(id: string, event: Unplaced<Event>): void {
    const run = this.find(id)
    const seq = this.seq(run) + 1
    const record = { ...event, seq, at: 1000 + seq } as Event
    if (record.type === 'run_ended') {
      run.summary = { ...run.summary, ended_at: record.at, ending: record.ending }
    }
    this.tell(run, { id: String(seq), item: record })
    if (record.type === 'run_ended') this.end(id)
  }

  writes(id: string, text: string, step = 1): void {
    const run = this.find(id)
    const count = run.frames.filter((frame) => frame.id.startsWith(`${this.seq(run)}.`)).length
    this.tell(run, { id: `${this.seq(run)}.${count + 1}`, item: { type: 'text_delta', step, text } })
  }

  /** Every connection to a run breaks, in the middle of what was being sent. */
  cut(id: string): void {
    for (const reader of this.readers.get(id) ?? []) {
      reader.enqueue(new TextEncoder().encode('id: 999\nevent: text_delta\ndata: {"type":"text_de'))
      reader.error(new TypeError('network error'))
    }
    this.readers.get(id)?.clear()
  }

  following(id: string): number {
    return this.readers.get(id)?.size ?? 0
  }

  /** A whole run that answers. */
  answered(id: string, task: string, answer: string): void {
    this.run(id, task)
    this.begins(id, task)
    this.replies(id, answer)
  }

  begins(id: string, task: string): void {
    this.happens(id, { type: 'run_started', agent: 'default', model: 'm', max_steps: 10, tools: [] })
    this.happens(id, { type: 'user_said', parts: [{ type: 'text', text: task }] })
    this.happens(id, { type: 'step_started', step: 1, attempt: 1, final: false, hidden: [] })
  }

  replies(id: string, text: string): void {
    this.happens(id, {
      type: 'model_replied',
      step: 1,
      turn: 'answer',
      finish_reason: 'stop',
      model: 'm',
      usage: { input_tokens: 1, output_tokens: 1, cached_tokens: 0, reasoning_tokens: 0, estimated: false },
      message: { role: 'assistant', parts: [{ type: 'text', text }] },
    })
    const account = { steps: 1, done: [], failed: [], params: {} }
    this.happens(id, { type: 'run_ended', ending: 'answered', code: 'answered', ...account })
  }

  private find(id: string): KeptRun {
    const run = this.runs.find((each) => each.summary.id === id)
    if (!run) throw new Error(`no run ${id}`)
    return run
  }

  private seq(run: KeptRun): number {
    return run.frames.filter(({ item }) => 'seq' in item).length
  }

  private tell(run: KeptRun, frame: Frame): void {
    run.frames.push(frame)
    for (const reader of this.readers.get(run.summary.id) ?? []) reader.enqueue(bytes(frame))
  }

  private end(id: string): void {
    for (const reader of this.readers.get(id) ?? []) reader.close()
    this.readers.get(id)?.clear()
  }

  private answer(address: string, init: RequestInit): Promise<Response> {
    const url = new URL(address, 'http://zeno.test')
    this.asked.push(url.pathname + url.search)
    const [, , , kind, id, what] = url.pathname.split('/')
    if (kind === 'sessions' && what === 'history') return Promise.resolve(this.history(url.searchParams.get('before')))
    if (kind === 'runs' && id && what === 'events') {
      return Promise.resolve(this.stream(id, new Headers(init.headers).get('last-event-id') ?? '', init.signal))
    }
    return Promise.resolve(Response.json({ code: 'session_not_found', params: {}, detail: '' }, { status: 404 }))
  }

  private history(before: string | null): Response {
    const end = before ? this.runs.findIndex((run) => run.summary.id === before) : this.runs.length
    const begin = Math.max(0, end - this.pageSize)
    const runs = this.runs.slice(begin, end).map(({ summary, frames }) => ({
      run: summary,
      events: frames.flatMap(({ item }) => ('seq' in item ? [item] : [])),
    }))
    return Response.json({ runs, before: begin > 0 ? runs[0]?.run.id : null })
  }

  private stream(id: string, cursor: string, signal: AbortSignal | null | undefined): Response {
    this.cursors.push(cursor)
    const run = this.find(id)
    const [seq = 0, delta = 0] = cursor.split('.').map(Number)
    const behind = run.frames.filter((frame) => {
      const [atSeq = 0, atDelta = 0] = frame.id.split('.').map(Number)
      // Pieces of what is whole by now are not told again.
      if (atDelta && atSeq !== this.seq(run)) return false
      return atSeq > seq || (atSeq === seq && atDelta > delta)
    })
    if (!behind.length && run.summary.ended_at !== null) return new Response(null, { status: 204 })
    const readers = this.readers.get(id) ?? new Set()
    this.readers.set(id, readers)
    const body = new ReadableStream<Uint8Array>({
      start: (reader) => {
        behind.forEach((frame) => reader.enqueue(bytes(frame)))
        if (run.summary.ended_at !== null) return reader.close()
        readers.add(reader)
        signal?.addEventListener('abort', () => {
          if (readers.delete(reader)) reader.error(new DOMException('', 'AbortError'))
        })
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
}

function bytes({ id, item }: Frame): Uint8Array {
  return new TextEncoder().encode(`id: ${id}\nevent: ${item.type}\ndata: ${JSON.stringify(item)}\n\n`)
}
