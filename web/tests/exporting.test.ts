import { describe, expect, it } from 'vitest'

import type { Event, RunSummary, Session } from '@/api/types'
import { asJson, asMarkdown, exportName, type ExportWords } from '@/run/exporting'

const session: Session = { id: '0123456789', title: 'Sales: by/channel', created_at: 1, used_at: 2, archived_at: null }
const summary: RunSummary = {
  id: 'r',
  session_id: session.id,
  task: 'Add up',
  agent: 'default',
  model: 'm',
  created_at: 1,
  ended_at: 9,
  ending: 'failed',
}
const usage = { input_tokens: 1, output_tokens: 1, cached_tokens: 0, reasoning_tokens: 0, estimated: false }
const events: Event[] = [
  { type: 'run_started', seq: 1, at: 1, agent: 'default', model: 'm', max_steps: 5, tools: [] },
  {
    type: 'user_said',
    seq: 2,
    at: 2,
    parts: [
      { type: 'text', text: 'Add up' },
      { type: 'file', path: 'odd `name`.csv', size: 3, media_type: 'text/csv' },
    ],
  },
  { type: 'step_started', seq: 3, at: 3, step: 1, attempt: 1, final: false, hidden: [] },
  {
    type: 'model_replied',
    seq: 4,
    at: 4,
    step: 1,
    turn: 'tools',
    finish_reason: 'stop',
    model: 'm',
    usage,
    message: {
      role: 'assistant',
      parts: [
        { type: 'thinking', text: 'first\nsecond', signature: '' },
        { type: 'tool_call', id: 'c', name: 'read_file', arguments: '{"path":"a"}' },
      ],
    },
  },
  {
    type: 'tool_finished',
    seq: 5,
    at: 5,
    step: 1,
    code: '',
    usage,
    effect: 'read',
    digest: '',
    approval: '',
    result: { type: 'tool_result', call_id: 'c', text: '```\nleaving?\n```', outcome: 'done', files: [] },
  },
  { type: 'run_ended', seq: 6, at: 6, ending: 'failed', code: 'internal_error', params: {}, steps: 1, done: [], failed: [] },
] as Event[]
const words: ExportWords = {
  untitled: 'New',
  exported: 'Exported',
  user: 'You',
  thinking: 'Thinking',
  answer: 'Answer',
  files: 'Files',
  approval: (decision) => decision,
  outcome: (outcome) => outcome,
  ending: (view) => view.ending ?? '',
  moment: (at) => `t${at}`,
}

describe('an exported conversation', () => {
  it('holds what was said, thought, called and found, and how it ended', () => {
    const text = asMarkdown(session, [{ run: summary, events }], 7, words)
    expect(text).toContain('# Sales: by/channel\n\n*Exported t7*')
    expect(text).toContain('## You · t2\n\nAdd up\n\nFiles: ``odd `name`.csv``')
    expect(text).toContain('> first\n> second')
    expect(text).toContain('**`read_file`** — done\n\n```json\n{"path":"a"}\n```')
    expect(text.trimEnd().endsWith('*failed*')).toBe(true)
  })

  it('keeps what a tool said within its block', () => {
    const text = asMarkdown(session, [{ run: summary, events }], 7, words)
    expect(text).toContain('````\n```\nleaving?\n```\n````')
  })

  it('knows a run without a log by its task', () => {
    expect(asMarkdown(session, [{ run: summary, events: [] }], 7, words)).toContain('## You · t1\n\nAdd up')
  })

  it('is for programs all of the events', () => {
    const read = JSON.parse(asJson(session, [{ run: summary, events }], 7)) as { runs: unknown[]; format: string }
    expect(read).toMatchObject({ format: 'zeno-conversation-1', exported_at: 7, session, runs: [{ run: summary, events }] })
  })

  it('has a name that every file system takes', () => {
    expect(exportName(session, 'md')).toBe('Sales_ by_channel.md')
    expect(exportName({ ...session, title: '../..' }, 'json')).toBe('_.json')
    expect(exportName({ ...session, title: ' ' }, 'json')).toBe('zeno-01234567.json')
    expect(exportName({ ...session, title: '销售'.repeat(80) }, 'md').length).toBe(63)
  })
})
