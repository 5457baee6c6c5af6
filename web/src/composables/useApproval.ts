/** One approval as the server knows it: its form, the decision, and what became of it elsewhere meanwhile. */
import { computed, onScopeDispose, ref, shallowRef, watch } from 'vue'

import type { Approval, ApprovalForm } from '@/api/types'
import { decidedInstead, MOST, useInbox, type Wish } from '@/stores/inbox'

export function useApproval(id: () => string, decided: (approval: Approval) => void) {
  const inbox = useInbox()
  const form = shallowRef<ApprovalForm | null>(null)
  /** Why there is no form. */
  const trouble = shallowRef<unknown>(null)
  /** Why the last decision was not taken. */
  const refusal = shallowRef<unknown>(null)
  const sending = ref(false)
  /** Whether somebody else, or time, was quicker. */
  const late = ref(false)
  let stop = new AbortController()

  const approval = computed(() => inbox.closed.get(id()) ?? form.value?.approval ?? null)
  const pending = computed(() => approval.value?.status === 'pending')

  async function load(): Promise<void> {
    stop.abort()
    stop = new AbortController()
    const { signal } = stop
    try {
      const found = await inbox.form(id(), signal)
      if (signal.aborted) return
      form.value = found
      trouble.value = null
    } catch (error) {
      if (!signal.aborted) trouble.value = error
    }
  }

  /** Whether it is decided now, by this or by something else. */
  async function decide(decision: Wish): Promise<boolean> {
    if (sending.value) return false
    sending.value = true
    refusal.value = null
    try {
      await inbox.decide(id(), decision)
      return true
    } catch (error) {
      refusal.value = error
      late.value = decidedInstead(error) !== null
      return late.value
    } finally {
      sending.value = false
    }
  }

  watch(
    id,
    () => {
      form.value = trouble.value = refusal.value = null
      late.value = false
      void load()
    },
    { immediate: true },
  )
  // What waits no longer was decided somewhere else, or its run is over.
  watch(
    () => inbox.looks,
    () => {
      const gone = pending.value && !sending.value && !inbox.pending.some((each) => each.id === id())
      if (gone && inbox.count < MOST) void load()
      if (trouble.value) void load()
    },
  )
  watch(approval, (now, before) => {
    if (now && now.status !== 'pending' && before?.status === 'pending') decided(now)
  })
  onScopeDispose(() => stop.abort())
  return { form, approval, pending, trouble, refusal, sending, late, load, decide }
}
