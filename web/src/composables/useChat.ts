/** The chat page's doings: what is read, written, sent and shown in the list belongs together here, and nothing is drawn. */
import { computed, onBeforeUnmount, onMounted, shallowRef, watch, type Ref } from 'vue'
import { useRouter } from 'vue-router'

import { api, ProblemError } from '@/api/client'
import type { RunReport, RunSummary, Session, Started } from '@/api/types'
import { isOpen, type LiveRun } from '@/run/live'
import { useConversations } from '@/stores/conversations'
import { useInbox } from '@/stores/inbox'

import { useRunChoices } from './useRunChoices'
import { useConversation } from './useConversation'
import { leaveDraft, useDraft, type Draft } from './useDrafts'
import { useOtherWindows } from './useOtherWindows'
import { useSending, type Order } from './useSending'

/** Characters of a task that a list tells. */
const TOLD_OF_TASK = 500

export function useChat(sessionId: Ref<string>) {
  const router = useRouter()
  const list = useConversations()
  const inbox = useInbox()
  const choices = useRunChoices()
  const { draft } = useDraft(sessionId)
  const session = shallowRef<Session | null>(null)
  const conversation = useConversation(sessionId, { ended: () => void refresh() })
  const { runs, problem } = conversation

  const current = computed<LiveRun | null>(() => runs.value.find(isOpen) ?? null)
  const newest = computed<LiveRun | null>(() => current.value ?? runs.value.at(-1) ?? null)
  const title = computed(() => (sessionId.value ? (list.find(sessionId.value)?.title ?? session.value?.title ?? '') : ''))
  const missing = computed(() => problem.value instanceof ProblemError && problem.value.code === 'session_not_found')

  const sending = useSending({
    busy: () => current.value !== null,
    began: (written, id) => show(written, id),
    started,
  })

  /** Go to a conversation that was begun where one still is. */
  function show(written: Draft, id: string): void {
    const here = sessionId.value === '' && written.sessionId === id
    const gone = here ? router.replace({ name: 'chat', params: { sessionId: id } }) : Promise.resolve()
    // Until then somebody may be writing: no word of theirs may go elsewhere.
    void gone.finally(() => leaveDraft(written))
    void refresh()
  }

  function started(written: Draft, answer: Started, summary: RunSummary): void {
    if (sessionId.value !== answer.session_id) return show(written, answer.session_id)
    const known = conversation.find(answer.run_id)
    if (known) known.said.value = [...known.said.value, { text: summary.task, after: known.view.value.seq }]
    else conversation.add(summary)
    windows.tell(answer.session_id)
    void refresh()
  }

  async function refresh(): Promise<void> {
    await Promise.all([list.look(), fetchSession()]).catch(() => undefined)
  }

  async function fetchSession(): Promise<void> {
    const id = sessionId.value
    if (!id) return
    const found = await api.get<Session>(`/sessions/${id}`)
    if (sessionId.value === id) session.value = found
  }

  const send = () => sending.send(draft.value)
  const resend = (order: Order) => sending.resend(draft.value, order)

  async function ask(text: string, files: File[] = []): Promise<void> {
    if (files.length) await sending.bring(draft.value, text, files)
    else await resend({ text, files: [] })
  }

  /** The task of a run once more, with the files that came with it. */
  async function retry(run: LiveRun): Promise<void> {
    const said = run.view.value.items.find((item) => item.kind === 'user')
    const texts = said?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])) ?? []
    const files = said?.parts.flatMap((part) => (part.type === 'file' ? [part.path] : [])) ?? []
    await resend({ text: said ? texts.join('\n') : await wholeTask(run), files })
  }

  async function wholeTask(run: LiveRun): Promise<string> {
    const { task } = run.summary.value
    return task.length < TOLD_OF_TASK ? task : (await api.get<RunReport>(`/runs/${run.id}`)).task
  }

  async function stop(run = current.value): Promise<void> {
    if (run) await sending.stop(draft.value, run)
    // One in the queue is not followed: whether it ended at once stands in the history only.
    if (run !== current.value) await conversation.catchUp()
  }

  /** One goes on with the agent and the model that one used last. */
  function remember(): void {
    const last = runs.value.at(-1)?.summary.value
    if (!last || draft.value.agent !== null || draft.value.model !== null) return
    const agents = choices.agents.slice(1).map((each) => each.name)
    if (agents.includes(last.agent)) draft.value.agent = last.agent
    const known = choices.models.some((each) => each.name === last.model)
    if (known && last.model !== choices.defaultModel) draft.value.model = last.model
  }

  const windows = useOtherWindows((id) => {
    if (id === sessionId.value) void conversation.catchUp()
    void list.look().catch(() => undefined)
  })
  // Another machine has begun something here.
  const elsewhere = computed(() => {
    const open = list.open.get(sessionId.value) ?? []
    return `${list.find(sessionId.value)?.used_at ?? ''} ${open.map((run) => run.id).join()}`
  })
  watch(elsewhere, (now, was) => {
    const unknown = (list.open.get(sessionId.value) ?? []).some((run) => !conversation.find(run.id))
    if (unknown || (!current.value && now.split(' ')[0] !== was.split(' ')[0])) void conversation.catchUp()
  })
  // What the list knew is known when the conversation has been put away, too.
  watch(
    () => list.find(sessionId.value),
    (found) => {
      if (found) session.value = found
    },
  )
  watch(sessionId, (id) => {
    session.value = list.find(id) ?? null
    void fetchSession().catch(() => undefined)
  })
  // The list says at once what the thread says.
  watch([() => current.value?.id, () => current.value?.view.value.ending], () => void list.lookAtRuns().catch(() => undefined))
  // So does the badge: what the run waits for now, or no more.
  const waiting = computed(() => current.value?.view.value.waiting.join() ?? '')
  watch(waiting, () => void inbox.look().catch(() => undefined))
  watch([conversation.loading, () => choices.models, () => choices.agents], remember)

  let leave: (() => void) | undefined
  onMounted(() => {
    leave = list.watch()
    void fetchSession().catch(() => undefined)
  })
  onBeforeUnmount(() => leave?.())
  return {
    conversation,
    choices,
    draft,
    title,
    missing,
    current,
    newest,
    send,
    resend,
    ask,
    retry,
    stop,
    attach: (files: File[]) => sending.attach(draft.value, files),
    detach: sending.detach,
    again: sending.again,
  }
}
