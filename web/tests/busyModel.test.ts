import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { markRaw, nextTick } from 'vue'

import type { Event, RunSummary, Told } from '@/api/types'
import LiveStatus from '@/components/chat/LiveStatus.vue'
import { i18n } from '@/i18n'
import { liveRun } from '@/run/live'

import { mounted, type Mounted } from './mounted'

const started = { type: 'step_started', seq: 1, at: 0, step: 1, attempt: 1, final: false, hidden: [] } as Event
const busy: Told = { type: 'retry_delta', attempt: 2, most: 3, seconds: 5.4, code: 'model_busy', step: 1 }
const run = () => markRaw(liveRun({ id: 'r', ended_at: null } as RunSummary, [started]))
let page: Mounted | undefined

/** What is seen, and what is told to those who hear the page. */
function status() {
  const seen = page?.root.querySelector('[data-test="countdown"]')?.textContent ?? ''
  return [seen, page?.root.querySelector('[data-test="status"] > :last-child')?.textContent]
}
async function pass(milliseconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds)
  await nextTick()
}

beforeEach(() => {
  i18n.global.locale.value = 'en-US'
  vi.useFakeTimers()
})
afterEach(() => {
  page?.close()
  vi.useRealTimers()
})

it('counts down to the next attempt for those who look, and tells it once to those who listen', async () => {
  const live = run()
  page = mounted(LiveStatus, { run: live })
  live.tell(busy, '1.1')
  live.flush()
  await pass(500)
  const told = 'The model is busy; asked again in 6 s (2 of 3).'
  expect(status()).toEqual([told, told])
  await pass(3_000)
  expect(status()).toEqual(['The model is busy; asked again in 3 s (2 of 3).', told])
  await pass(3_500)
  expect(status()).toEqual(['', 'Thinking…'])
})

it('says nothing more of it when the model writes', async () => {
  const live = run()
  page = mounted(LiveStatus, { run: live })
  live.tell({ ...busy, code: 'model_unreachable', seconds: 60 }, '1.1')
  live.tell({ ...busy, code: 'model_unreachable', seconds: 50, attempt: 3 }, '1.2')
  live.flush()
  await pass(500)
  expect(status()[0]).toBe('The model did not answer; asked again in 50 s (3 of 3).')
  live.tell({ type: 'text_delta', text: 'Here', step: 1 }, '1.3')
  live.flush()
  await pass(500)
  expect(status()).toEqual(['', 'Writing…'])
})
