import { readFileSync } from 'node:fs'

import { afterEach, describe, expect, it, vi } from 'vitest'

import { ATTACHED, EXAMPLES, fetched } from '@/components/welcome/examples'
import { welcome } from '@/i18n/welcome'

const LANGUAGES = ['en-US', 'zh-CN'] as const

describe('the examples of the welcome', () => {
  afterEach(() => vi.unstubAllGlobals())

  it('name the file that goes with them, in both languages', () => {
    for (const example of EXAMPLES) {
      for (const language of LANGUAGES) {
        const attachment = ATTACHED[example]
        const name = attachment?.name ?? (attachment ? welcome[language].file.name : '')
        expect(welcome[language][example].text).toContain(name)
      }
    }
  })

  it('have files that are there, and the table is the one of the repository', () => {
    for (const attachment of Object.values(ATTACHED)) {
      for (const address of Object.values(attachment.address)) expect(readFileSync(`public${address}`, 'utf-8')).not.toBe('')
    }
    expect(readFileSync('public/examples/sales.csv')).toEqual(readFileSync('../examples/sales.csv'))
  })

  it('fetch the file of the language under its name there', async () => {
    const asked: string[] = []
    vi.stubGlobal('fetch', async (address: string) => {
      asked.push(address)
      return new Response('# Notes', { headers: { 'content-type': 'text/markdown' } })
    })
    const file = await fetched(ATTACHED.file as NonNullable<typeof ATTACHED.file>, '会议纪要.md', 'zh-CN')
    expect([file.name, file.size, asked]).toEqual(['会议纪要.md', 7, ['/examples/meeting-notes.zh-CN.md']])
  })

  it('attach no page in place of a file that is missing', async () => {
    vi.stubGlobal('fetch', async () => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } }))
    await expect(fetched({ address: { '': '/examples/gone.csv' }, type: 'text/csv' }, 'gone.csv', 'en-US')).rejects.toThrow()
  })
})
