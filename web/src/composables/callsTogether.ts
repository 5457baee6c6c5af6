/** Which calls of a step were at work at the same time. Pure. */
import type { CallView } from '@/run/view'

/** The calls in their order, those together that were begun before one of the others had ended. */
export function callsTogether(calls: readonly CallView[]): CallView[][] {
  const groups: CallView[][] = []
  for (const call of calls) {
    const group = groups.at(-1)
    if (group && together(group, call)) group.push(call)
    else groups.push([call])
  }
  return groups
}

function together(group: readonly CallView[], call: CallView): boolean {
  // What has not begun is drawn apart, so that nothing moves when one after the other is carried out.
  if (call.startedAt === null) return false
  return group.every(({ startedAt, finishedAt }) => {
    if (startedAt === null || call.startedAt === null) return false
    return finishedAt === null || call.startedAt < finishedAt
  })
}
