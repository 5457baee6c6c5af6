/** The present, once a second while it is needed. */
import { onScopeDispose, ref, watch, type Ref } from 'vue'

export function useNow(needed: () => boolean): Ref<number> {
  const now = ref(Date.now())
  let timer: ReturnType<typeof setInterval> | undefined
  const rest = () => {
    clearInterval(timer)
    timer = undefined
  }
  watch(
    needed,
    (wanted) => {
      rest()
      now.value = Date.now()
      if (wanted) timer = setInterval(() => (now.value = Date.now()), 1000)
    },
    { immediate: true },
  )
  onScopeDispose(rest)
  return now
}
