import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { nextTick, ref } from 'vue'

import type { Me } from '@/api/types'
import { useAccount } from '@/stores/account'

/** The page, loaded anew by whoever is logged in. */
async function loaded(user: string) {
  vi.resetModules()
  useAccount().me = { id: user } as Me
  vi.doMock('@/stores/account', () => ({ useAccount }))
  return await import('@/composables/useDrafts')
}

beforeEach(() => {
  sessionStorage.clear()
  setActivePinia(createPinia())
})
afterEach(() => vi.doUnmock('@/stores/account'))

async function wrote(user: string, text: string) {
  const drafts = await loaded(user)
  drafts.useDraft(ref('s')).draft.value.text = text
  await nextTick()
  return drafts
}

describe('what is being written', () => {
  it('is there again when the page was loaded anew, for the same user and conversation', async () => {
    await wrote('ada', 'half a thought')
    const { useDraft } = await loaded('ada')
    expect(useDraft(ref('s')).draft.value.text).toBe('half a thought')
    expect(useDraft(ref('other')).draft.value.text).toBe('')
  })

  it('is nobody else’s', async () => {
    await wrote('ada', 'half a thought')
    const { useDraft } = await loaded('bob')
    expect(useDraft(ref('s')).draft.value.text).toBe('')
    expect(JSON.stringify({ ...sessionStorage })).not.toContain('half')
  })

  it('does not stay when one logs out, nor when it was sent', async () => {
    const { forgetDrafts } = await wrote('ada', 'half a thought')
    expect(sessionStorage).toHaveLength(1)
    forgetDrafts()
    await nextTick()
    expect(sessionStorage).toHaveLength(0)
    const { useDraft } = await wrote('ada', 'another')
    useDraft(ref('s')).draft.value.text = ''
    await nextTick()
    expect(sessionStorage).toHaveLength(0)
  })
})
