/** A run as a list of what it did: each asking of the model and each call, in order. Pure. */
import type { ActionKind, Usage } from '@/api/types'

import { waitOf, type CallView, type RunView, type StepItem } from './view'

export interface Action {
  /** The key of its bar in the timeline. */
  key: string
  step: number
  action: ActionKind | 'MODEL'
  /** Empty for the model. */
  tool: string
  arguments: string
  outcome: string
  usage: Usage | null
  milliseconds: number | null
  /** Milliseconds for which it waited for a decision; 0 for one that is still waited for. */
  waited: number
}

export function actions(view: RunView): Action[] {
  return view.items.flatMap((item) =>
    item.kind === 'step' ? [asked(item), ...item.calls.map((call) => called(item, call))] : [],
  )
}

function asked(item: StepItem): Action {
  return {
    key: `step-${item.step}`,
    step: item.step,
    action: item.done && item.text && !item.calls.length ? 'DIRECT_RESPONSE' : 'MODEL',
    tool: '',
    arguments: '',
    outcome: item.done ? 'done' : 'open',
    usage: item.usage,
    milliseconds: item.repliedAt === null ? null : item.repliedAt - item.at,
    waited: 0,
  }
}

function called(item: StepItem, call: CallView): Action {
  const took = call.startedAt === null || call.finishedAt === null ? null : call.finishedAt - call.startedAt
  return {
    key: `call-${call.id}`,
    step: item.step,
    action: call.action,
    tool: call.name,
    arguments: call.arguments,
    outcome: call.outcome ?? 'open',
    usage: call.usage,
    milliseconds: took,
    waited: waitOf(call, call.approval?.requestedAt ?? 0),
  }
}
