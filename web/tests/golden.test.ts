/** The same logs as the house's own fold reads, and the same said of them. */
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'

import { describe, expect, it } from 'vitest'

import type { Told } from '@/api/types'
import { apply, fold } from '@/run/reducer'
import { callsOf, emptyRun, type RunView } from '@/run/view'

const HERE = resolve(import.meta.dirname, '../../tests/golden')
const expected = JSON.parse(readFileSync(`${HERE}/expected.json`, 'utf-8')) as Record<string, unknown>
const names = readdirSync(HERE).flatMap((file) => (file.endsWith('.jsonl') ? [file.slice(0, -6)] : []))

function told(name: string): Told[] {
  const lines = readFileSync(`${HERE}/${name}.jsonl`, 'utf-8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as Told)
}

function known(view: RunView) {
  const steps = view.items.filter((item) => item.kind === 'step').filter((step) => step.done)
  const calls = callsOf(view)
  return {
    ending: view.ending,
    usage: view.usage,
    user: view.items
      .filter((item) => item.kind === 'user')
      .map((item) => item.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')),
    replies: steps.filter((step) => step.text.trim() || step.calls.length).map((step) => step.text),
    calls: calls.map(({ id, name, outcome, files }) => ({ id, name, outcome, files: files.map((file) => file.path) })),
    waiting: calls
      .flatMap((call) => (call.approval && !call.approval.decision && !call.outcome ? [call.approval.id] : []))
      .sort(),
    cancel_requested: view.cancelRequested,
  }
}

describe.each(names)('the log %s', (name) => {
  it('is read as the house reads it', () => {
    expect(known(fold('r', told(name)))).toEqual(expected[name])
  })

  it('is read alike when its beginning is told again at any place', () => {
    const whole = told(name)
    for (let cut = 0; cut < whole.length; cut++) {
      // Records are told again after a broken connection; pieces of answers never are.
      const records = whole.slice(0, cut).filter((each) => 'seq' in each)
      const again = [...whole.slice(0, cut), ...records, ...whole.slice(cut)]
      expect(fold('r', again)).toEqual(fold('r', whole))
    }
  })

  it('is not changed in place by what comes later', () => {
    let view = emptyRun('r')
    for (const each of told(name)) {
      const before = JSON.stringify(view)
      const next = apply(view, each)
      expect(JSON.stringify(view)).toBe(before)
      view = next
    }
  })
})

describe('a log as it comes', () => {
  it('shows pieces of an answer, and voids those of an attempt that broke off', () => {
    const view = fold('r', told('crash'))
    const texts = view.items.flatMap((item) => (item.kind === 'step' ? [item.text] : []))
    expect(texts).toEqual(['', 'Please check account a: '])
    expect(view.items.filter((item) => item.kind === 'step')[0]).toMatchObject({ attempt: 2, thinking: 'Charge it now.' })
  })

  it('ties decisions to the calls that they are about', () => {
    const decisions = callsOf(fold('r', told('decisions'))).map((call) => call.approval?.decision?.type)
    expect(decisions).toEqual(['approve', 'deny', 'edit', 'answer'])
  })
})
