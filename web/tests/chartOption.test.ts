import { describe, expect, it } from 'vitest'

import { chartOption, type Look } from '@/composables/chartOption'

const look: Look = {
  ...{ summary: 'Sales', ink: '#111111', dim: '#222222', line: '#333333', ground: '#ffffff', series: ['#1f4e79'] },
  ...{ font: 'Ubuntu, sans-serif', moving: false, width: 600 },
}
const series = [
  { name: 'online', values: [1, 2] },
  { name: 'shop', values: [3, 4] },
]

describe.each(['line', 'bar', 'pie'] as const)('a %s chart', (kind) => {
  const plot = { kind, title: 'Sales', categories: ['Jan', 'Feb'], series, prefix: '', suffix: '', places: 0 }
  const option = chartOption(plot, look, String) as { textStyle: object; legend: Record<string, object | string> }

  it('is written in a font that a canvas can measure', () => {
    expect(option.textStyle).toMatchObject({ fontFamily: look.font })
    expect(JSON.stringify(option)).not.toContain('inherit')
  })

  it('has a legend that is read on any ground, also where it has pages', () => {
    expect(option.legend).toMatchObject({
      textStyle: { color: look.ink },
      pageTextStyle: { color: look.ink },
      pageIconColor: look.ink,
    })
  })
})
