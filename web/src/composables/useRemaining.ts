/** The time that is left until a moment, in words that keep pace with the clock. */
import { computed, onScopeDispose, ref, watch } from 'vue'
import { useI18n } from 'vue-i18n'

import { isNear, nextChange, remaining } from '@/components/approvals/remaining'

export function useRemaining(until: () => number, now: () => number) {
  const { locale } = useI18n()
  const left = ref(0)
  let timer: ReturnType<typeof setTimeout> | undefined

  function tick(): void {
    clearTimeout(timer)
    left.value = Math.max(until() - now(), 0)
    if (left.value > 0) timer = setTimeout(tick, nextChange(left.value) + 5)
  }
  watch(until, tick, { immediate: true })
  // A page in the background is let sleep, so the clock is read anew when it is seen again.
  document.addEventListener('visibilitychange', tick)
  onScopeDispose(() => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', tick)
  })
  const words = computed(() => remaining(left.value, locale.value))
  const near = computed(() => isNear(left.value))
  const over = computed(() => left.value <= 0)
  return { words, near, over }
}
