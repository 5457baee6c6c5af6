/** What the server writes into the audit has words on the page. */
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'

import { describe, expect, it } from 'vitest'

import { i18n, LANGUAGES } from '@/i18n'

const SERVER = resolve(import.meta.dirname, '../../src/zeno/server')
const sources = readdirSync(SERVER, { recursive: true, encoding: 'utf-8' }).filter((name) => name.endsWith('.py'))
const calls = sources.flatMap((name) => readFileSync(`${SERVER}/${name}`, 'utf-8').match(/(?:\baudited|audit\.write)\([^\n]*/g))
// Not what is given by name: that is how it went.
const actions = new Set(calls.flatMap((call) => [...(call ?? '').matchAll(/(?<!=)"([a-z_]+)"/g)].map(([, action]) => action)))

describe('the audit', () => {
  it.each(LANGUAGES)('has words in %s for each action', (language) => {
    expect(actions).toContain('model_saved')
    expect(actions).toContain('user_enabled')
    expect([...actions].filter((action) => !i18n.global.te(`rules.audit.action.${action}`, language))).toEqual([])
  })
})
