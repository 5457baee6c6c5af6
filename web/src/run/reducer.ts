/** The fold of a run's events into what is drawn. Pure: the same events give the same view, and no view is changed in place. */
import type { Event, RetryDelta, TextDelta, ThinkingDelta, Told, Usage } from '@/api/types'

import { emptyRun, NO_USAGE, type ApprovalView, type CallView, type Item, type RunView, type StepItem } from './view'

type Of<K extends Event['type']> = Extract<Event, { type: K }>

/** The view after one more thing was told. A record that was folded before changes nothing. */
export function apply(view: RunView, told: Told): RunView {
  if (!('seq' in told)) return withDelta(view, told)
  if (told.seq <= view.seq) return view
  return { ...folded(view, told), seq: told.seq }
}

export function fold(id: string, told: Iterable<Told>): RunView {
  let view = emptyRun(id)
  for (const each of told) view = apply(view, each)
  return view
}

function folded(view: RunView, event: Event): RunView {
  switch (event.type) {
    case 'run_started':
      return { ...view, agent: event.agent, model: event.model, maxSteps: event.max_steps, startedAt: event.at }
    case 'user_said':
      return added({ ...view, ending: null }, { kind: 'user', seq: event.seq, at: event.at, parts: event.parts })
    case 'step_started':
      return withStep(view, event)
    case 'model_replied':
      return withReply(view, event)
    case 'tool_started':
      return withCall(view, event.call_id, (call) => ({
        ...call,
        startedAt: event.at,
        action: event.action,
        effect: event.effect,
        repaired: event.repaired,
      }))
    case 'tool_finished':
      return withResult(view, event)
    case 'approval_requested':
      return withCall(view, event.call_id, (call) => ({ ...call, effect: event.effect, approval: asked(event) }))
    case 'approval_decided':
      return withDecision(view, event)
    case 'run_paused':
      return { ...view, ending: 'awaiting_approval', waiting: event.waiting }
    case 'cancel_requested':
      return added(
        { ...view, cancelRequested: true, ending: null, waiting: [] },
        { kind: 'cancel', seq: event.seq, at: event.at },
      )
    case 'run_ended':
      return {
        ...view,
        ending: event.ending,
        code: event.code,
        params: event.params,
        endedAt: event.at,
        toolsDone: event.done,
        toolsFailed: event.failed,
        waiting: [],
      }
  }
}

function added(view: RunView, item: Item): RunView {
  return { ...view, items: [...view.items, item] }
}

/** A later attempt at the same step voids what was streamed of the earlier one. */
function withStep(view: RunView, event: Of<'step_started'>): RunView {
  const voided = view.items.filter((item) => item.kind !== 'step' || item.step !== event.step || item.done)
  const item: StepItem = {
    kind: 'step',
    seq: event.seq,
    at: event.at,
    step: event.step,
    attempt: event.attempt,
    final: event.final,
    hidden: event.hidden,
    thinking: '',
    text: '',
    calls: [],
    turn: null,
    usage: null,
    model: '',
    finishReason: '',
    done: false,
    repliedAt: null,
    retry: null,
  }
  return { ...view, items: [...voided, item] }
}

function withDelta(view: RunView, delta: TextDelta | ThinkingDelta | RetryDelta): RunView {
  return withItem(
    view,
    (item) => item.kind === 'step' && item.step === delta.step && !item.done,
    (item) => {
      if (item.kind !== 'step') return item
      if (delta.type === 'retry_delta') return { ...item, retry: delta }
      const field = delta.type === 'thinking_delta' ? 'thinking' : 'text'
      return { ...item, [field]: item[field] + delta.text, retry: null }
    },
  )
}

/** The whole reply takes the place of what was streamed of it. */
function withReply(view: RunView, event: Of<'model_replied'>): RunView {
  const { parts } = event.message
  const written = (type: 'text' | 'thinking') =>
    parts.flatMap((part) => (part.type === type ? [part.text] : [])).join(type === 'text' ? '' : '\n')
  const calls = parts.flatMap((part) => (part.type === 'tool_call' ? [called(part.id, part.name, part.arguments)] : []))
  const replied = withItem(
    view,
    (item) => item.kind === 'step' && item.step === event.step && !item.done,
    (item) => ({
      ...(item as StepItem),
      thinking: written('thinking'),
      text: written('text'),
      calls,
      turn: event.turn,
      usage: event.usage,
      model: event.model,
      finishReason: event.finish_reason,
      done: true,
      repliedAt: event.at,
      retry: null,
    }),
  )
  return { ...replied, usage: sum(view.usage, event.usage) }
}

function withResult(view: RunView, event: Of<'tool_finished'>): RunView {
  const { result } = event
  const closed = withCall(view, result.call_id, (call) => ({
    ...call,
    finishedAt: event.at,
    outcome: result.outcome,
    code: event.code,
    text: result.text,
    files: result.files,
    usage: event.usage,
    effect: event.effect,
  }))
  return { ...closed, usage: sum(view.usage, event.usage) }
}

function withDecision(view: RunView, event: Of<'approval_decided'>): RunView {
  const waiting = view.waiting.filter((id) => id !== event.approval_id)
  const items = view.items.map((item) => {
    if (item.kind !== 'step' || !item.calls.some((call) => call.approval?.id === event.approval_id)) return item
    const calls = item.calls.map((call) =>
      call.approval?.id === event.approval_id && !call.approval.decision
        ? { ...call, approval: { ...call.approval, decision: event.decision, by: event.by, decidedAt: event.at } }
        : call,
    )
    return { ...item, calls }
  })
  return { ...view, ending: null, waiting, items }
}

function called(id: string, name: string, text: string): CallView {
  return {
    id,
    name,
    arguments: text,
    action: 'TOOL_CALL',
    effect: 'read',
    repaired: false,
    startedAt: null,
    finishedAt: null,
    outcome: null,
    code: '',
    text: '',
    files: [],
    usage: null,
    approval: null,
  }
}

function asked(event: Of<'approval_requested'>): ApprovalView {
  return {
    id: event.approval_id,
    kind: event.kind,
    effect: event.effect,
    arguments: event.arguments,
    cause: event.cause,
    approver: event.approver,
    requestedAt: event.at,
    expiresAt: event.at + event.patience,
    decision: null,
    by: '',
    decidedAt: null,
  }
}

/** The newest item that fits, changed. */
function withItem(view: RunView, fits: (item: Item) => boolean, change: (item: Item) => Item): RunView {
  const place = view.items.findLastIndex(fits)
  const found = view.items[place]
  return found ? { ...view, items: view.items.with(place, change(found)) } : view
}

function withCall(view: RunView, id: string, change: (call: CallView) => CallView): RunView {
  const has = (item: Item) => item.kind === 'step' && item.calls.some((call) => call.id === id)
  return withItem(view, has, (item) =>
    item.kind === 'step' ? { ...item, calls: item.calls.map((call) => (call.id === id ? change(call) : call)) } : item,
  )
}

function sum(one: Usage, other: Usage | undefined): Usage {
  const more = other ?? NO_USAGE
  return {
    input_tokens: one.input_tokens + more.input_tokens,
    output_tokens: one.output_tokens + more.output_tokens,
    cached_tokens: one.cached_tokens + more.cached_tokens,
    reasoning_tokens: one.reasoning_tokens + more.reasoning_tokens,
    estimated: one.estimated || more.estimated,
  }
}
