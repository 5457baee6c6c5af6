/** Whether something has been there long enough that a tap on it was meant for it, and not for what was there before. */
import { onBeforeUnmount, onMounted, ref, type Ref } from 'vue'

const SETTLING = 500

export function useSettled(): Ref<boolean> {
  const settled = ref(false)
  let timer: ReturnType<typeof setTimeout> | undefined
  onMounted(() => (timer = setTimeout(() => (settled.value = true), SETTLING)))
  onBeforeUnmount(() => clearTimeout(timer))
  return settled
}
