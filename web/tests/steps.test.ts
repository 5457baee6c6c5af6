import { afterEach, describe, expect, it } from 'vitest'

import CallCard from '@/components/chat/CallCard.vue'
import StepCard from '@/components/chat/StepCard.vue'
import ThinkingBlock from '@/components/chat/ThinkingBlock.vue'
import { callsTogether } from '@/composables/callsTogether'
import { changedMembers, glance, indented } from '@/composables/jsonText'
import { pieces } from '@/composables/resultPieces'
import { emptyRun, type CallView, type RunView, type StepItem } from '@/run/view'

import { mounted, until, type Mounted } from './mounted'

const call = (more: Partial<CallView> = {}): CallView => ({
  id: 'c1',
  name: 'send_mail',
  arguments: '{"to":"a@example.com"}',
  action: 'TOOL_CALL',
  effect: 'danger',
  repaired: false,
  startedAt: 1_000,
  finishedAt: 3_500,
  outcome: 'done',
  code: '',
  text: 'sent',
  files: [],
  usage: null,
  approval: null,
  ...more,
})

const step = (more: Partial<StepItem> = {}): StepItem => ({
  kind: 'step',
  seq: 1,
  at: 0,
  step: 2,
  attempt: 1,
  final: false,
  hidden: [],
  thinking: '',
  text: 'hello',
  calls: [],
  turn: 'answer',
  usage: { input_tokens: 1_200, output_tokens: 34, cached_tokens: 0, reasoning_tokens: 0, estimated: false },
  model: 'm',
  finishReason: 'stop',
  done: true,
  repliedAt: 2_000,
  retry: null,
  ...more,
})

const approval = (decision: NonNullable<CallView['approval']>['decision'], by = 'u7'): CallView['approval'] => ({
  id: 'p1',
  kind: 'action',
  effect: 'danger',
  arguments: '{"text":"hi","to":"a@example.com"}',
  cause: 'danger',
  approver: 'owner',
  requestedAt: 0,
  expiresAt: 1,
  decision,
  by,
  decidedAt: 500,
})

const RUN: RunView = { ...emptyRun('r1'), model: 'm' }

let open: Mounted | undefined
afterEach(() => {
  open?.close()
  open = undefined
})

function shown(more: Partial<CallView> = {}, run: RunView = RUN): HTMLElement {
  open = mounted(CallCard, { call: call(more), run, sessionId: 's1' })
  return open.root
}

async function unfolded(more: Partial<CallView> = {}): Promise<HTMLElement> {
  const root = shown(more)
  root.querySelector<HTMLElement>('[data-test=call-toggle]')?.click()
  await until(() => root.querySelector('[data-test=call-details]') !== null)
  return root
}

describe('the card of a call', () => {
  it('says in one line what was done, what became of it and how long it took', () => {
    const root = shown()
    expect(root.textContent?.replace(/\s+/g, ' ')).toMatch(/Tool ?send_mail ?to: a@example\.com ?done ?2\.5 s/)
    expect(root.querySelector('[data-test=call-details]')).toBeNull()
  })

  it.each([
    ['failed', '', 'nothing was changed'],
    ['unknown', 'interrupted', 'check before you repeat it'],
    ['unknown', 'cancelled_at_work', 'Nobody can say whether it took effect'],
    ['unknown', 'mail_unanswered', 'Nobody can say whether it took effect'],
    ['rejected', 'denied', 'a person refused it'],
    ['rejected', 'denied_by_rule', 'a rule of this installation forbids it'],
    ['cancelled', 'cancelled', 'Cancelled before it began'],
  ] as const)('explains the outcome %s with the code %s', (outcome, code, words) => {
    const root = shown({ outcome, code })
    expect(root.querySelector('[data-test=because]')?.textContent).toContain(words)
  })

  it.each([
    ['cached', 'known already', 'that result was used again'],
    ['already_done', 'done before', 'not done a second time'],
    ['verified', 'checked afterwards', 'it could be checked'],
  ])('marks what was not simply done: %s', async (code, mark, words) => {
    const root = await unfolded({ code })
    expect(root.querySelector('[data-test=code]')?.textContent).toBe(mark)
    expect(root.querySelector('[data-test=call-details]')?.textContent).toContain(words)
  })

  it('tells one at work from one that waits, one not begun and one left open', () => {
    const none = { outcome: null, finishedAt: null }
    const state = (root: HTMLElement) => {
      const found = root.querySelector('[data-test=call]')?.getAttribute('data-state')
      open?.close()
      return found
    }
    expect(state(shown({ ...none, startedAt: Date.now() }))).toBe('working')
    expect(state(shown({ ...none, startedAt: null }))).toBe('queued')
    expect(state(shown(none, { ...RUN, ending: 'failed' }))).toBe('open')
  })

  it('lays arguments out without changing them, and folds long ones', async () => {
    const root = await unfolded({ arguments: '{"n":12345678901234567890,"a":1.0,"a":2,"list":[1,2,3],"e":{},"x":"{,}"}' })
    const code = root.querySelector('[data-test=code] pre')
    expect(code?.textContent).toContain('"n": 12345678901234567890,\n  "a": 1.0,\n  "a": 2,')
    expect(code?.textContent).not.toContain('"x"')
    root.querySelector<HTMLElement>('[data-test=unfold]')?.click()
    await until(() => code?.textContent?.includes('"x": "{,}"') ?? false)
  })

  it('shows broken arguments as they were written, and says that they were repaired', async () => {
    const root = await unfolded({ arguments: '{"to": "a",}', repaired: true })
    expect(root.querySelector('[data-test=code] pre')?.textContent).toBe('{"to": "a",}')
    expect(root.querySelector('[data-test=repaired]')).not.toBeNull()
  })

  it('shows who decided, and old and new arguments where a person changed them', async () => {
    const changed = approval({ type: 'edit', arguments: '{"text":"hi","to":"b@example.com"}', reason: 'wrong address' })
    const root = await unfolded({ approval: changed })
    const decision = root.querySelector('[data-test=decision]')
    expect(decision?.textContent).toMatch(/permitted with other arguments.*u7/s)
    expect(decision?.textContent).toContain('wrong address')
    expect(decision?.textContent).toContain('Changed: to')
    const sides = [...root.querySelectorAll('[data-test=edited] pre')].map((each) => each.textContent)
    expect(sides[0]).toContain('a@example.com')
    expect(sides[1]).toContain('b@example.com')
  })

  it('shows what a person answered', () => {
    const root = shown({ approval: approval({ type: 'answer', answer: { choices: ['red'], text: '<b>bright</b>' } }) })
    expect(root.querySelector('[data-test=decision]')?.textContent).toMatch(/red.*<b>bright<\/b>/s)
  })

  it('shows a result as text, never as markup', async () => {
    const root = await unfolded({ text: '<img src=x onerror=alert(1)> **x**' })
    expect(root.querySelector('[data-test=result]')?.textContent).toContain('<img src=x onerror=alert(1)> **x**')
    expect(root.querySelector('img')).toBeNull()
  })

  it('says where a result is from and when, in the way of the language, and not within the result', async () => {
    const root = await unfolded({ text: '3 rows\n[source: Sales DB; at 2026-03-05T06:07:08Z]' })
    const source = root.querySelector('[data-test=source]')
    expect(source?.textContent).toMatch(/^Source\s*Sales DB\s*Mar \d/)
    expect(source?.querySelector('time')?.dateTime).toBe('2026-03-05T06:07:08.000Z')
    expect(root.querySelector('[data-test=result]')?.textContent).toContain('3 rows')
    expect(root.textContent).not.toContain('[source')
  })
})

describe('a result', () => {
  it('is a table where it holds rows with columns, between the words around them', () => {
    const json = '{"path":"a.csv","columns":["region","total"],"rows":[["north",1.5],["south",null]],"shown":2}'
    expect(pieces(`2 groups.\n\n\`\`\`json\n${json}\n\`\`\`\n[source: x]`)).toEqual([
      { kind: 'text', text: '2 groups.' },
      {
        kind: 'table',
        columns: ['region', 'total'],
        rows: [
          ['north', '1.5'],
          ['south', null],
        ],
      },
      { kind: 'text', text: '[source: x]' },
    ])
  })

  it('is a table where lines stand between bars', () => {
    expect(pieces('2 rows, all there are.\n\n| a | b |\n|---|---|\n| 1 | x \\| y |\n| 2 | z |')).toEqual([
      { kind: 'text', text: '2 rows, all there are.' },
      {
        kind: 'table',
        columns: ['a', 'b'],
        rows: [
          ['1', 'x | y'],
          ['2', 'z'],
        ],
      },
    ])
  })

  it('is JSON or text otherwise', () => {
    expect(pieces('{"a":[1]}')).toEqual([{ kind: 'json', text: '{\n  "a": [\n    1\n  ]\n}' }])
    expect(pieces('{"a":')).toEqual([{ kind: 'text', text: '{"a":' }])
    expect(pieces('| a |\n|---|\n| 1 | 2 |')[0]?.kind).toBe('text')
    expect(pieces('```json\nnot json\n```')[0]?.kind).toBe('text')
    expect(pieces('')).toEqual([])
  })
})

describe('JSON as text', () => {
  it('is only laid out', () => {
    const text = '{"b":"a:{\\"},[","c":[],"d":{"e":-1.50e3}}'
    expect(indented(text)?.replace(/\n\s*|(?<=":) /g, '')).toBe(text)
    expect(indented('{"a":1,}')).toBeNull()
  })

  it('tells at a glance what it holds, and what differs', () => {
    expect(glance('{"a":"x\\ny","b":[1],"c":true}')).toBe('a: x y · c: true')
    expect(changedMembers('{"a":{"x":[1,2]},"b":1}', '{"b":2,"a":{"x":[1,2]},"c":0}')).toEqual(['b', 'c'])
  })
})

describe('the card of a step', () => {
  it('is calm at first, and tells tokens, time and model when asked', async () => {
    open = mounted(StepCard, { step: step({ model: 'other-model' }), run: RUN, sessionId: 's1', live: false })
    const { root } = open
    expect(root.textContent?.replace(/\s+/g, ' ')).toMatch(/Step 2 ?· ?2\.0 s/)
    expect(root.textContent).not.toContain('other-model')
    root.querySelector<HTMLElement>('[data-test=step-details]')?.click()
    await until(() => root.querySelector('[data-test=step-facts]') !== null)
    expect(root.textContent).toMatch(/1,200 in.*34 out.*other-model/s)
  })

  it('says what was unusual about it', () => {
    const more = { attempt: 3, final: true, hidden: ['read_file'], turn: 'question' }
    open = mounted(StepCard, { step: step(more), run: RUN, sessionId: 's1', live: false })
    const remarks = [...open.root.querySelectorAll('[data-test=step-remark]')].map((each) => each.textContent)
    expect(remarks.join(' ')).toMatch(/asked again \(attempt 3\).*has to answer now.*read_file.*asks you back/)
  })

  it('sets calls side by side that were at work at the same time, and no others', () => {
    const at = (id: string, startedAt: number | null, finishedAt: number | null) => call({ id, startedAt, finishedAt })
    const groups = callsTogether([at('a', 1, 9), at('b', 2, 3), at('c', 10, 11), at('d', 11, null), at('e', null, null)])
    expect(groups.map((group) => group.map(({ id }) => id).join(''))).toEqual(['ab', 'c', 'd', 'e'])
  })
})

describe('thinking', () => {
  const toggle = (root: HTMLElement) => root.querySelector<HTMLElement>('[data-test=thinking-toggle]')

  it('is one line until one opens it, and then plain text', async () => {
    open = mounted(ThinkingBlock, { text: 'a **b** <i>c</i>', live: false, milliseconds: 2_500 })
    const { root } = open
    expect(root.textContent?.trim()).toBe('Thought for 2.5 s')
    toggle(root)?.click()
    await until(() => root.textContent?.includes('a **b** <i>c</i>') ?? false)
    expect(root.querySelector('i, strong')).toBeNull()
  })

  it('is open from then on while it goes on, for one who wished to watch', async () => {
    open = mounted(ThinkingBlock, { text: 'first', live: true })
    expect(open.root.textContent).not.toContain('first')
    toggle(open.root)?.click()
    open.close()
    open = mounted(ThinkingBlock, { text: 'second', live: true })
    expect(open.root.textContent).toContain('second')
    open.close()
    open = mounted(ThinkingBlock, { text: 'old', live: false })
    expect(open.root.textContent).not.toContain('old')
  })
})
