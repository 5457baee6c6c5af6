/** A box that stays at its end while it grows, as long as its reader is there, and never moves what is being read. */
import { nextTick, onBeforeUnmount, onMounted, ref, type Ref } from 'vue'

/** Pixels from the end that still count as being there. */
const NEAR = 48
/** Milliseconds after a touch of the reader's in which a movement is theirs. */
const HAND = 1000

export function useStickToBottom(box: Ref<HTMLElement | null>, content: Ref<HTMLElement | null>) {
  const stuck = ref(true)
  let top = 0
  let height = 0
  let touched = 0
  let observer: ResizeObserver | undefined

  function toBottom(): void {
    stuck.value = true
    const element = box.value
    if (!element) return
    element.scrollTop = element.scrollHeight
    top = element.scrollTop
    height = element.scrollHeight
  }

  /** Content that changes its size moves a box too: only who scrolls up themselves wants to stay there. */
  function scrolled(): void {
    const element = box.value
    if (!element) return
    const up = element.scrollTop < top - 1
    const theirs = element.scrollHeight === height || Date.now() - touched < HAND
    if (element.scrollHeight - element.scrollTop - element.clientHeight <= NEAR) stuck.value = true
    else if (up && theirs) stuck.value = false
    top = element.scrollTop
    height = element.scrollHeight
  }

  /** Make a change above what is being read, which stays where it is. */
  async function keeping(change: () => void): Promise<void> {
    const edge = box.value?.getBoundingClientRect().top ?? 0
    const children = [...(content.value?.querySelectorAll<HTMLElement>('[data-anchor]') ?? [])]
    const anchor = children.find((child) => child.getBoundingClientRect().bottom > edge)
    const before = anchor?.getBoundingClientRect().top ?? 0
    change()
    await nextTick()
    if (stuck.value) toBottom()
    else if (anchor?.isConnected && box.value) {
      box.value.scrollTop += anchor.getBoundingClientRect().top - before
      top = box.value.scrollTop
      height = box.value.scrollHeight
    }
  }

  const touch = () => (touched = Date.now())
  const SIGNS = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const
  onMounted(() => {
    observer = new ResizeObserver(() => {
      if (stuck.value) toBottom()
    })
    for (const element of [box.value, content.value]) if (element) observer.observe(element)
    for (const sign of SIGNS) box.value?.addEventListener(sign, touch, { passive: true })
    box.value?.addEventListener('scroll', scrolled, { passive: true })
    toBottom()
  })
  onBeforeUnmount(() => observer?.disconnect())
  return { stuck, toBottom, keeping }
}
