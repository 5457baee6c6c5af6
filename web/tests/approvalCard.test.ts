import { createPinia } from 'pinia'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createApp, nextTick, type App } from 'vue'

import type { Approval, ApprovalForm, Passage } from '@/api/types'
import ApprovalCard from '@/components/approvals/ApprovalCard.vue'
import { i18n } from '@/i18n'
import { useInbox } from '@/stores/inbox'

const PARAMETERS = {
  type: 'object',
  properties: { to: { type: 'string' }, text: { type: 'string' }, copies: { type: 'integer', maximum: 9 } },
  required: ['to', 'text'],
}

/** A page that has markup, empty lines and a character that turns the reading direction. */
const PASSAGE: Passage = {
  argument: 'to',
  tool: 'browse',
  call_id: 'b',
  before: 'far away\n<b>Hours</b>\r\n \n\n  9 to 5\n[write](javascript:x)\nto\u2067 ',
  found: 'ann@example.com',
  after: '  soon\n1\n\n2\n3\n4',
}

function waiting(change: Partial<Approval> = {}): Approval {
  return {
    id: 'r.1',
    run_id: 'r',
    call_id: 'c',
    session_id: 's',
    kind: 'action',
    tool: 'send_mail',
    effect: 'danger',
    arguments: '{"text":"gr\\u202eeetings","to":"ann@example.com"}',
    definition: 'd',
    cause: 'danger',
    passage: null,
    approver: 'owner',
    requested_at: Date.now(),
    expires_at: Date.now() + 3_600_000,
    status: 'pending',
    decision: null,
    decided_at: null,
    decided_by: null,
    ...change,
  }
}

/** The server's side: one approval, decided once. */
class Server {
  readonly posted: Record<string, unknown>[] = []
  refuse: { code: string; params: Record<string, string> } | null = null
  constructor(
    public approval: Approval,
    private readonly changed = false,
    private readonly parameters: object = PARAMETERS,
  ) {
    vi.stubGlobal('fetch', (address: string, init: RequestInit = {}) => Promise.resolve(this.answer(address, init)))
  }
  private answer(address: string, init: RequestInit): Response {
    if (init.method === 'POST') return this.decide(JSON.parse(init.body as string) as Record<string, unknown>)
    if (address.includes('/approvals?')) return json({ approvals: this.approval.status === 'pending' ? [this.approval] : [] })
    const form: ApprovalForm = {
      approval: this.approval,
      description: 'Sends a mail.\nUse it when asked to.',
      parameters: this.parameters as never,
      changed: this.changed,
    }
    return json(form)
  }
  private decide(body: Record<string, unknown>): Response {
    this.posted.push(body)
    if (this.refuse) return json({ ...this.refuse, detail: '' }, 422)
    if (this.approval.status !== 'pending')
      return json({ code: 'approval_decided', params: { approval: 'r.1' }, detail: '', approval: this.approval }, 409)
    const decision =
      body['decision'] === 'edit'
        ? { type: 'edit' as const, arguments: JSON.stringify(body['arguments']), reason: String(body['reason']) }
        : { type: 'approve' as const }
    this.approval = { ...this.approval, status: 'decided', decision, decided_at: Date.now(), decided_by: 'local' }
    return json({ approval: this.approval, decided_by_this: true })
  }
}

function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status })
}

vi.setConfig({ testTimeout: 30_000 })

let app: App | undefined
let root: HTMLElement
const decided = vi.fn()

function mount(): void {
  root = document.createElement('div')
  document.body.append(root)
  app = createApp(ApprovalCard, { approvalId: 'r.1', onDecided: decided })
  app.use(createPinia()).use(i18n).mount(root)
}
function find(test: string): HTMLElement {
  const found = root.querySelector<HTMLElement>(`[data-test="${test}"]`)
  if (!found) throw new Error(`there is no ${test} in ${root.innerHTML}`)
  return found
}
async function until(condition: () => boolean): Promise<void> {
  await vi.waitFor(() => expect(condition()).toBe(true), { timeout: 5000, interval: 10 })
}
async function there(test: string): Promise<HTMLElement> {
  await vi.waitFor(() => find(test), { timeout: 5000, interval: 10 })
  return find(test)
}
async function type(test: string, text: string): Promise<void> {
  const field = (await there(test)).querySelector<HTMLTextAreaElement | HTMLInputElement>('textarea, input')
  if (!field) throw new Error(`there is nothing to type into in ${test}`)
  field.value = text
  field.dispatchEvent(new InputEvent('input', { bubbles: true }))
  await nextTick()
}
function isOff(test: string): boolean {
  return find(test).hasAttribute('disabled')
}
async function approve(): Promise<void> {
  await there('approve')
  await until(() => !isOff('approve'))
  find('approve').click()
}

beforeEach(() => {
  i18n.global.locale.value = 'en-US'
  decided.mockReset()
})
afterEach(() => {
  app?.unmount()
  root.remove()
  vi.unstubAllGlobals()
})

describe('the card of an approval', () => {
  it('shows what would be done, and the character that turns the reading direction', async () => {
    new Server(waiting())
    mount()
    await there('arguments')
    expect(find('argument-to').textContent).toContain('ann@example.com')
    expect(find('argument-text').textContent).toContain('U+202E')
    expect(find('argument-text').textContent).not.toContain('\u202E')
    expect(find('deceiving').textContent).toContain('1')
    expect(find('touches').textContent).toContain('ann@example.com')
    expect(find('cause').textContent).toBe('it acts on the world outside')
    expect(root.querySelector('[data-test="passage"]')).toBeNull()
  })

  it.each([
    ['en-US', 'text that others wrote', 'from others’ text'],
    ['zh-CN', '他人所写', '取自他人'],
  ] as const)(
    'shows whose words an argument is made of, before the decision and after it: %s',
    async (language, words, tag) => {
      i18n.global.locale.value = language
      new Server(waiting({ cause: 'untrusted', passage: PASSAGE }))
      mount()
      const note = await there('passage')
      expect(note.compareDocumentPosition(find('arguments'))).toBe(Node.DOCUMENT_POSITION_FOLLOWING)
      const caption = note.querySelector('figcaption')?.textContent
      for (const part of [words, 'to', 'browse']) expect(caption).toContain(part)
      expect(find('cause').textContent).toContain(words)
      expect(find('argument-to').textContent).toContain(tag)
      expect(find('argument-text').classList).not.toContain('taken')
      await approve()
      await there('outcome')
      expect(find('passage').closest('details')).not.toBeNull()
      expect(find('found').textContent).toContain('ann@example.com')
      expect(find('argument-to').classList).toContain('taken')
    },
  )

  it('quotes that text as text, line by line, and marks what was taken', async () => {
    new Server(waiting({ cause: 'rule', passage: PASSAGE }))
    mount()
    const quote = (await there('passage')).querySelector('blockquote')
    const [before, found, after] = [...(quote?.querySelectorAll('bdi') ?? [])].map((each) => each.textContent)
    expect(before).toMatch(/^<b>Hours<\/b>\n9 to 5\n\[write\]\(javascript:x\)\ntoU\+2067/)
    expect(found).toBe('ann@example.com')
    expect(quote?.querySelector('mark')?.textContent).toContain(found)
    expect(after).toBe('  soon\n1\n2\n3')
    expect(quote?.querySelector('a, b, .space')).toBeNull()
  })

  it('begins and ends the quotation where the text does', async () => {
    new Server(waiting({ cause: 'untrusted', passage: { ...PASSAGE, before: '', after: '' } }))
    mount()
    expect((await there('passage')).querySelectorAll('bdi')).toHaveLength(3)
  })

  it('speaks the language of the page of a tool that ships, also where its arguments are changed', async () => {
    i18n.global.locale.value = 'zh-CN'
    const path = { type: 'string', description: 'Path of the file, relative to the workspace.' }
    const parameters = { type: 'object', properties: { path }, required: ['path'] }
    new Server(waiting({ tool: 'delete_file', arguments: '{"path":"a.txt"}' }), false, parameters)
    mount()
    await there('arguments')
    expect(root.textContent).toContain('删除对话里的一个文件')
    expect(find('argument-path').querySelector('dt')?.title).toBe('要删除的文件。')
    find('edit').click()
    expect((await there('field-path')).textContent).toContain('要删除的文件。')
    expect(root.textContent).not.toMatch(/Sends|Use it|Path of/)
  })

  it('leaves a tool its own words when it only has the name of one that ships', async () => {
    i18n.global.locale.value = 'zh-CN'
    new Server(waiting({ tool: 'send_email' }))
    mount()
    await there('arguments')
    expect(root.textContent).toContain('Sends a mail.')
  })

  it('does not take a tap that came with it for a decision, and has no button in focus', async () => {
    const server = new Server(waiting())
    mount()
    await there('approve')
    expect(isOff('approve')).toBe(true)
    find('approve').click()
    expect(document.activeElement).toBe(document.body)
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }))
    await until(() => !isOff('approve'))
    expect(server.posted).toEqual([])
    find('approve').click()
    find('approve').click()
    expect((await there('outcome')).dataset['outcome']).toBe('approve')
    expect(server.posted).toEqual([{ decision: 'approve' }])
    expect(decided).toHaveBeenCalledOnce()
  })

  it('sends only what fits, and marks what was changed', async () => {
    const server = new Server(waiting())
    mount()
    ;(await there('edit')).click()
    await there('edit-confirm')
    expect(isOff('edit-confirm')).toBe(true)
    ;(await there('give-copies')).click()
    await type('field-copies', '10')
    expect(find('field-copies').textContent).toContain('At most 9.')
    expect(isOff('edit-confirm')).toBe(true)
    await type('field-copies', '2')
    expect(find('field-copies').classList).toContain('changed')
    expect(find('field-to').classList).not.toContain('changed')
    await type('reason', 'two are enough')
    find('edit-confirm').click()
    await there('outcome')
    expect(server.posted).toEqual([
      {
        decision: 'edit',
        arguments: { to: 'ann@example.com', text: 'gr\u202Eeetings', copies: 2 },
        reason: 'two are enough',
      },
    ])
    expect(find('argument-copies').classList).toContain('changed')
  })

  it('keeps what was typed when the server does not take it, and says why', async () => {
    const server = new Server(waiting())
    server.refuse = { code: 'decision_arguments', params: { reason: 'no such address' } }
    mount()
    ;(await there('edit')).click()
    await type('field-to', 'nobody')
    find('edit-confirm').click()
    expect((await there('refusal')).textContent).toContain('no such address')
    expect(find('field-to').querySelector('textarea')?.value).toBe('nobody')
    expect(decided).not.toHaveBeenCalled()
  })

  it('shows how it was decided when somebody was quicker', async () => {
    const server = new Server(waiting())
    mount()
    await there('approve')
    const denied = { status: 'decided' as const, decision: { type: 'deny' as const, reason: 'not today' } }
    server.approval = waiting({ ...denied, decided_at: Date.now(), decided_by: 'wang' })
    await approve()
    expect((await there('outcome')).dataset['outcome']).toBe('deny')
    expect(find('late').textContent).toContain('decided before')
    expect(find('outcome').textContent).toContain('by wang')
    expect(find('outcome').textContent).toContain('not today')
  })

  it('turns into the outcome when it is decided elsewhere, and keeps what was being typed', async () => {
    const server = new Server(waiting())
    mount()
    ;(await there('deny')).click()
    await type('reason', 'because of')
    server.approval = waiting({ status: 'decided', decision: { type: 'approve' }, decided_at: 1, decided_by: 'wang' })
    await useInbox().look()
    expect((await there('outcome')).dataset['outcome']).toBe('approve')
    expect(find('reason').querySelector('textarea')?.value).toBe('because of')
    expect(isOff('deny-confirm')).toBe(true)
    expect(decided).toHaveBeenCalledOnce()
  })

  it('says that the time is up, and takes no decision any more', async () => {
    new Server(waiting({ expires_at: Date.now() + 40 }))
    mount()
    await there('over')
    expect(isOff('approve')).toBe(true)
    expect(isOff('deny')).toBe(true)
  })

  it('says when the tool is another than the one that was asked about', async () => {
    new Server(waiting(), true)
    mount()
    expect((await there('tool-changed')).textContent).toContain('changed since')
  })

  it.each(['danger', 'untrusted'])('spells out the rule before it is kept, and what it permits: %s', async (cause) => {
    const server = new Server(waiting({ cause }))
    mount()
    ;(await there('always')).click()
    expect((await there('always-rule')).textContent).toContain('ann@example.com')
    expect(find('always-rule').textContent).toContain('no other arguments')
    expect(root.textContent).toContain('also where these values come from text that others wrote')
    await until(() => !isOff('always-confirm'))
    find('always-confirm').click()
    await there('outcome')
    expect(server.posted).toEqual([{ decision: 'approve', always: true }])
  })

  it('leaves open in the rule what it is told to, and says what that means', async () => {
    const server = new Server(waiting())
    mount()
    ;(await there('always')).click()
    ;(await there('any-text')).click()
    await nextTick()
    expect(find('always-rule').textContent).toContain('any text')
    expect(find('always-rule').textContent).toContain('ann@example.com')
    expect(find('always-open').textContent).toContain('Whatever stands in text')
    find('any-to').click()
    await nextTick()
    expect(find('always-open').textContent).toContain('Every call of send_mail')
    find('any-to').click()
    await until(() => !isOff('always-confirm'))
    find('always-confirm').click()
    await there('outcome')
    expect(server.posted).toEqual([{ decision: 'approve', always: true, any: ['text'] }])
  })

  it('offers no rule where none could spare the question', async () => {
    new Server(waiting({ cause: 'manual' }))
    mount()
    await there('approve')
    expect(root.querySelector('[data-test="always"]')).toBeNull()
  })

  it('takes choices in the order of the question, with words of one’s own', async () => {
    const asked = { question: 'What?', form: 'multiple', options: ['soup', 'salad', 'tea'] }
    const server = new Server(
      waiting({ kind: 'question', tool: 'ask_user', cause: 'question', arguments: JSON.stringify(asked) }),
    )
    mount()
    await there('answer')
    expect(isOff('answer')).toBe(true)
    for (const option of ['option-2', 'option-0']) find(option).click()
    await type('words', ' and bread ')
    await until(() => !isOff('answer'))
    find('answer').click()
    await until(() => server.posted.length > 0)
    expect(server.posted).toEqual([{ decision: 'answer', answer: { choices: ['soup', 'tea'], text: 'and bread' } }])
  })
})
