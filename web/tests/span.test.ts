import { createApp } from 'vue'
import { afterEach, describe, expect, it } from 'vitest'

import { useSpan } from '@/composables/useSpan'
import { i18n, type Language } from '@/i18n'

function spans(language: Language): (milliseconds: number) => string {
  i18n.global.locale.value = language
  let found: ReturnType<typeof useSpan> | undefined
  const app = createApp({
    setup() {
      found = useSpan()
      return () => null
    },
  }).use(i18n)
  app.mount(document.createElement('div'))
  if (!found) throw new Error('not set up')
  return found.span
}

describe('a length of time', () => {
  afterEach(() => (i18n.global.locale.value = 'en-US'))

  it('is as exact as one wants to know it', () => {
    const span = spans('en-US')
    expect([0, 12.4, 999, 1000, 1234, 61_000, 3_725_000, 93_600_000].map(span)).toEqual([
      '0 ms',
      '12 ms',
      '999 ms',
      '1.0 s',
      '1.2 s',
      '1 min 1 s',
      '1 h 2 min',
      '1 d 2 h',
    ])
  })

  it('never names sixty of a unit', () => {
    const span = spans('en-US')
    expect([59_960, 119_700, 3_599_700, 86_399_000].map(span)).toEqual(['1 min 0 s', '2 min 0 s', '1 h 0 min', '1 d 0 h'])
  })

  it('is never less than nothing, where two clocks differ', () => {
    expect(spans('en-US')(-300)).toBe('0 ms')
  })

  it('is said in the language of the page', () => {
    expect(spans('zh-CN')(65_000)).toBe('1 分 5 秒')
  })
})
