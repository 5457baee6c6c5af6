/** Whether there is only the width of a phone. */
import { onScopeDispose, ref, type Ref } from 'vue'

export function useNarrow(below = 720): Ref<boolean> {
  const media = window.matchMedia(`(max-width: ${below}px)`)
  const narrow = ref(media.matches)
  const look = () => (narrow.value = media.matches)
  media.addEventListener('change', look)
  onScopeDispose(() => media.removeEventListener('change', look))
  return narrow
}
