/** What is drawn of a run. Values only; `reducer.ts` makes them from events. */
import type { ActionKind, Decision, Effect, Ending, FilePart, Outcome, Part, RetryDelta, Usage } from '@/api/types'

/** A call that a person is or was asked about. Times are milliseconds since 1970-01-01 UTC. */
export interface ApprovalView {
  id: string
  kind: 'action' | 'question'
  effect: Effect
  /** Canonical JSON. */
  arguments: string
  cause: string
  approver: string
  requestedAt: number
  expiresAt: number
  decision: Decision | null
  /** The id of the user who decided; empty when nobody has, or the passing of time. */
  by: string
  decidedAt: number | null
}

/** One call of a step. `outcome` is `null` until it has a result, `startedAt` until it was begun. */
export interface CallView {
  id: string
  name: string
  /** As the model wrote it; not always valid JSON. */
  arguments: string
  action: ActionKind
  effect: Effect
  repaired: boolean
  startedAt: number | null
  finishedAt: number | null
  outcome: Outcome | null
  /** Why it was not simply done. */
  code: string
  text: string
  files: FilePart[]
  usage: Usage | null
  approval: ApprovalView | null
}

/** The user's words. */
export interface UserItem {
  kind: 'user'
  seq: number
  at: number
  parts: Part[]
}

/** One asking of the model, with what it wrote and called. `done` once the reply is whole. */
export interface StepItem {
  kind: 'step'
  seq: number
  at: number
  step: number
  attempt: number
  /** Whether it had to answer without tools. */
  final: boolean
  /** Tools taken away because they led nowhere. */
  hidden: string[]
  thinking: string
  text: string
  calls: CallView[]
  /** Who has control after it: `answer` and `question` hand it to the user. */
  turn: string | null
  usage: Usage | null
  model: string
  finishReason: string
  done: boolean
  repliedAt: number | null
  /** That the model could not be had and is asked again, until it says something. */
  retry: RetryDelta | null
}

export interface CancelItem {
  kind: 'cancel'
  seq: number
  at: number
}

export type Item = UserItem | StepItem | CancelItem

/** A run as far as it was told. `ending` is `null` while it is at work and `awaiting_approval` while it is paused. */
export interface RunView {
  id: string
  /** The number of the last record folded; what is told again is not folded again. */
  seq: number
  agent: string
  model: string
  maxSteps: number
  startedAt: number | null
  endedAt: number | null
  items: Item[]
  ending: Ending | null
  code: string
  params: Record<string, string | number>
  /** Tools that succeeded, and that did not, by the account the run gives of itself. */
  toolsDone: string[]
  toolsFailed: string[]
  usage: Usage
  /** Ids of approvals that it waits for. */
  waiting: string[]
  cancelRequested: boolean
}

export const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, reasoning_tokens: 0, estimated: false }

export function emptyRun(id: string): RunView {
  return {
    id,
    seq: 0,
    agent: '',
    model: '',
    maxSteps: 0,
    startedAt: null,
    endedAt: null,
    items: [],
    ending: null,
    code: '',
    params: {},
    toolsDone: [],
    toolsFailed: [],
    usage: NO_USAGE,
    waiting: [],
    cancelRequested: false,
  }
}

/** All calls of a run, in order. */
export function callsOf(view: RunView): CallView[] {
  return view.items.flatMap((item) => (item.kind === 'step' ? item.calls : []))
}

/** What the run said last. */
export function answerOf(view: RunView): string {
  const steps = view.items.filter((item) => item.kind === 'step')
  return steps.findLast((step) => step.text && !step.calls.length)?.text ?? ''
}

/** Files that its calls produced, each path once, the newest last. */
export function filesOf(view: RunView): FilePart[] {
  const byPath = new Map(callsOf(view).flatMap((call) => call.files.map((file) => [file.path, file] as const)))
  return [...byPath.values()]
}

/** Milliseconds for which a call waited for a person; `until` closes what is still open. */
export function waitOf({ approval }: CallView, until: number): number {
  return approval ? Math.max((approval.decidedAt ?? until) - approval.requestedAt, 0) : 0
}

/** Milliseconds for which a run waited for people: times in which several calls waited count once. */
export function waitedOf(view: RunView, until: number): number {
  let [total, counted] = [0, 0]
  const asked = callsOf(view).flatMap((call) =>
    call.approval ? [[call.approval.requestedAt, waitOf(call, until)] as const] : [],
  )
  for (const [from, wait] of asked.toSorted(([one], [other]) => one - other)) {
    const end = from + wait
    total += Math.max(end - Math.max(from, counted), 0)
    counted = Math.max(counted, end)
  }
  return total
}
