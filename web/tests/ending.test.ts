import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

import { afterEach, describe, expect, it } from 'vitest'

import EndingNote from '@/components/chat/EndingNote.vue'
import type { Told } from '@/api/types'
import { fold } from '@/run/reducer'
import { filesOf } from '@/run/view'

import { mounted, type Mounted } from './mounted'

const LOG = resolve(import.meta.dirname, '../../tests/golden/weekly_report.jsonl')
const view = fold(
  'r',
  readFileSync(LOG, 'utf-8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Told),
)
let open: Mounted | undefined
afterEach(() => open?.close())

describe('the note at the end of a run', () => {
  it('offers each file that the run made once, to look at and to keep', () => {
    open = mounted(EndingNote, { view, sessionId: 's1' })
    const cards = [...open.root.querySelectorAll('[data-test=ending-files] [data-test=file]')]
    const files = filesOf(view)
    expect(files.length).toBeGreaterThan(0)
    expect(cards.map((card) => card.querySelector('[data-test=download]')?.getAttribute('href'))).toEqual(
      files.map(({ path }) => `/api/v1/sessions/s1/files/${path.split('/').map(encodeURIComponent).join('/')}`),
    )
    expect(cards.at(-1)?.textContent).toContain('Word document')
    expect(open.root.querySelector('[data-test=preview]')).not.toBeNull()
  })

  it('offers nothing while the run waits: it is not over', () => {
    open = mounted(EndingNote, { view: { ...view, ending: 'awaiting_approval' }, sessionId: 's1' })
    expect(open.root.querySelector('[data-test=file]')).toBeNull()
  })
})
