import { createApp, h, nextTick, ref } from 'vue'
import { describe, expect, it } from 'vitest'

import type { Event } from '@/api/types'
import TimelineChart from '@/components/runs/TimelineChart.vue'
import { i18n } from '@/i18n'
import { timeline } from '@/run/timeline'

const USAGE = { input_tokens: 1, output_tokens: 1, cached_tokens: 0, reasoning_tokens: 0, estimated: false }
const EVENTS = [
  { type: 'run_started', seq: 1, at: 0 },
  { type: 'step_started', seq: 2, at: 0, step: 1, attempt: 1 },
  { type: 'model_replied', seq: 3, at: 100, step: 1, usage: USAGE },
  { type: 'tool_started', seq: 4, at: 100, step: 1, call_id: 'c', name: 'read_file' },
  { type: 'tool_finished', seq: 5, at: 400, step: 1, code: '', result: { call_id: 'c', outcome: 'failed' } },
  { type: 'run_ended', seq: 6, at: 400 },
] as unknown as Event[]

function drawn() {
  i18n.global.locale.value = 'en-US'
  const place = document.createElement('div')
  document.body.append(place)
  const selected = ref('')
  const select = (key: string) => (selected.value = key)
  createApp({ setup: () => () => h(TimelineChart, { drawn: timeline(EVENTS), selected: selected.value, onSelect: select }) })
    .use(i18n)
    .mount(place)
  return { bars: [...place.querySelectorAll<HTMLElement>('[data-test=bar]')], selected }
}

describe('the drawn timeline', () => {
  it('says in words what each bar is', () => {
    expect(drawn().bars.map((bar) => bar.getAttribute('aria-label'))).toEqual([
      'Step 1: the model, 100 ms',
      'read_file: failed, 300 ms',
    ])
  })

  it('is one stop of the Tab key, and the arrows go from bar to bar', async () => {
    const { bars, selected } = drawn()
    const stops = () => bars.map((bar) => bar.tabIndex)
    expect(stops()).toEqual([0, -1])
    bars[0]?.focus()
    bars[0]?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }))
    await nextTick()
    expect(document.activeElement).toBe(bars[1])
    expect(stops()).toEqual([-1, 0])
    bars[1]?.click()
    await nextTick()
    expect(selected.value).toBe('call-c')
    expect(bars[1]?.getAttribute('aria-pressed')).toBe('true')
    bars[1]?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', bubbles: true }))
    expect(document.activeElement).toBe(bars[0])
  })
})
