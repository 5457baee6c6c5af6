import { describe, expect, it } from 'vitest'

import { emptyRun } from '@/run/view'
import { apply } from '@/run/reducer'

describe('the fold', () => {
  it('voids what was streamed of an attempt that failed', () => {
    const at = 1
    let view = emptyRun('r')
    view = apply(view, { type: 'step_started', seq: 1, at, step: 1, attempt: 1, final: false, hidden: [] })
    view = apply(view, { type: 'text_delta', step: 1, text: 'half an ans' })
    view = apply(view, { type: 'step_started', seq: 2, at, step: 1, attempt: 2, final: false, hidden: [] })
    view = apply(view, { type: 'text_delta', step: 1, text: 'whole' })
    expect(view.items).toHaveLength(1)
    expect(view.items[0]).toMatchObject({ text: 'whole', attempt: 2 })
  })
})
