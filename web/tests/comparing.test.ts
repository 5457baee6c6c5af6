import { describe, expect, it } from 'vitest'

import { actions } from '@/run/actions'
import { align, figures, spread } from '@/run/comparing'
import { emptyRun, type CallView, type RunView, type StepItem } from '@/run/view'

function call(name: string, args: string, more: Partial<CallView> = {}): CallView {
  return {
    id: `${name}-${args}`,
    name,
    arguments: args,
    action: 'TOOL_CALL',
    effect: 'read',
    repaired: false,
    startedAt: 0,
    finishedAt: 10,
    outcome: 'done',
    code: '',
    text: 'result',
    files: [],
    usage: null,
    approval: null,
    ...more,
  }
}

function run(...calls: CallView[]): RunView {
  const step: StepItem = {
    kind: 'step',
    seq: 1,
    at: 0,
    step: 1,
    attempt: 1,
    final: false,
    hidden: [],
    thinking: '',
    text: '',
    calls,
    turn: 'note',
    usage: null,
    model: '',
    finishReason: '',
    done: true,
    repliedAt: 1,
    retry: null,
  }
  return { ...emptyRun('r'), items: [step] }
}

const names = (one: RunView, other: RunView, most?: number) =>
  align(one, other, most).map((pair) => [pair.one?.arguments ?? null, pair.other?.arguments ?? null])

describe('two runs side by side', () => {
  it('has calls that both made next to each other, and the others alone', () => {
    const one = run(call('read', '{"path":"a"}'), call('read', '{"path":"b"}'), call('sum', '{"x":1}'))
    const other = run(call('read', '{"path":"b"}'), call('draw', '{}'), call('sum', '{"x":1}'))
    expect(names(one, other)).toEqual([
      ['{"path":"a"}', null],
      ['{"path":"b"}', '{"path":"b"}'],
      [null, '{}'],
      ['{"x":1}', '{"x":1}'],
    ])
  })

  it('puts the same tool with other arguments side by side and marks what differs', () => {
    const one = run(call('sum', '{"x": 1, "y": 2}'), call('read', '{"p":1}', { text: 'old' }))
    const other = run(call('sum', '{"y":2,"x":1}'), call('read', '{"p":2}', { text: 'new' }))
    const [sum, read] = align(one, other)
    expect(sum).toMatchObject({ sameArguments: true, sameResult: true })
    expect(read).toMatchObject({ sameArguments: false, sameResult: false })
  })

  it('does not take a failure for the same result because it says the same', () => {
    const [pair] = align(run(call('sum', '{}')), run(call('sum', '{}', { outcome: 'failed' })))
    expect(pair).toMatchObject({ sameArguments: true, sameResult: false })
  })

  it('does not take a result for another one because of the time that it was had at', () => {
    const at = (time: string) => call('sum', '{}', { text: `42\n[source: sum; at 2026-12-01T05:${time}Z]` })
    expect(align(run(at('17:55')), run(at('27:22')))[0]).toMatchObject({ sameResult: true })
  })

  it('takes arguments that are no JSON as they were written', () => {
    const [pair] = align(run(call('sum', '{"x":')), run(call('sum', '{"x":')))
    expect(pair).toMatchObject({ sameArguments: true })
    expect(spread('{"x":')).toBe('{"x":')
  })

  it('goes by number where there are too many calls to be compared', () => {
    const one = run(call('a', '1'), call('b', '2'), call('c', '3'))
    expect(names(one, run(call('b', '2')), 3)).toEqual([
      ['1', '2'],
      ['2', null],
      ['3', null],
    ])
  })

  it('says by how much the second run differs in each figure', () => {
    const one = { ...run(call('a', '1'), call('b', '2', { outcome: 'failed' as const })), startedAt: 1000, endedAt: 4000 }
    const other = { ...run(call('a', '1')), startedAt: 1000, endedAt: null }
    const found = Object.fromEntries(figures(one, other).map((figure) => [figure.name, figure]))
    expect(found['calls']).toMatchObject({ one: 2, other: 1, difference: -1 })
    expect(found['failures']).toMatchObject({ one: 1, other: 0, difference: -1 })
    expect(found['milliseconds']).toMatchObject({ one: 3000, other: null, difference: null })
  })

  it('count the time in which people were waited for, once where calls waited together', () => {
    const asked = (requestedAt: number, decidedAt: number | null) =>
      call('send_mail', `${requestedAt}`, { approval: { requestedAt, decidedAt } as CallView['approval'] })
    const one = { ...run(asked(5000, 6000), asked(1000, 4000), asked(2000, 3000), asked(3500, 4500)), endedAt: 9000 }
    const other = { ...run(asked(1000, null), call('a', '1')), endedAt: 2000 }
    const found = Object.fromEntries(figures(one, other).map((figure) => [figure.name, figure]))
    expect(found['waited']).toMatchObject({ one: 4500, other: 1000, difference: -3500 })
    expect(actions(one).flatMap(({ tool, waited }) => (tool ? [waited] : []))).toEqual([1000, 3000, 1000, 1000])
    expect(actions(other).map(({ waited }) => waited)).toEqual([0, 0, 0])
  })
})
