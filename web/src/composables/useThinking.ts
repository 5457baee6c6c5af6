/** Whether a reader wishes to watch thinking while it goes on. The wish holds for whatever thinks next, until the page is left. */
import { ref, watch, type Ref } from 'vue'

const watched = ref(false)

/** `open` follows the wish when thinking begins, and stays as the reader left it afterwards. */
export function useThinking(live: () => boolean): { open: Ref<boolean>; toggle: () => void } {
  const open = ref(live() && watched.value)
  watch(live, (now) => {
    if (now) open.value = watched.value
  })
  function toggle(): void {
    open.value = !open.value
    if (live()) watched.value = open.value
  }
  return { open, toggle }
}
