/** The blocks of a text, kept up with it as it grows: not more often than drawing them is worth, and not all of a long one at once. */
import { nextTick, onBeforeUnmount, ref, shallowRef, watch, type Ref, type ShallowRef } from 'vue'

import { NOTHING, split } from '@/markdown/blocks'
import { referencesOf, type References } from '@/markdown/parser'

/** Milliseconds between two looks at a text that is being written, and how many times its own cost a look waits. */
const PAUSE = 40
const COSTS = 5
/** Blocks that are drawn at once; the others follow frame by frame, as many as take these milliseconds. */
const AT_ONCE = 40
const FRAME = 12
/** Always the same, so that blocks see that nothing has changed. */
const NONE: References = {}

interface Blocks {
  blocks: ShallowRef<string[]>
  references: ShallowRef<References>
  /** How many of the blocks are drawn so far. */
  shown: Ref<number>
}

export function useBlocks(source: () => string, live: () => boolean): Blocks {
  const blocks = shallowRef<string[]>([])
  const references = shallowRef(NONE)
  const shown = ref(AT_ONCE)
  let state = NOTHING
  let timer: ReturnType<typeof setTimeout> | undefined
  let frame = 0
  let cost = 0
  let each = AT_ONCE / 4
  let left = false

  function look(): void {
    clearTimeout(timer)
    timer = undefined
    const begun = performance.now()
    state = split(source(), live(), state)
    blocks.value = state.blocks
    // A name at the end of a text would change what was read before: links by name wait for the whole of it.
    references.value = (live() ? null : referencesOf(source())) ?? NONE
    void nextTick(() => (cost = performance.now() - begun))
    if (shown.value < state.blocks.length && !frame) frame = requestAnimationFrame(more)
  }

  async function more(): Promise<void> {
    const begun = performance.now()
    shown.value += each
    await nextTick()
    each = Math.min(AT_ONCE, Math.max(1, Math.round((each * FRAME) / Math.max(performance.now() - begun, 1))))
    frame = !left && shown.value < state.blocks.length ? requestAnimationFrame(more) : 0
  }

  look()
  watch([source, live], () => {
    if (!live()) look()
    else timer ??= setTimeout(look, Math.max(PAUSE, cost * COSTS))
  })
  onBeforeUnmount(() => {
    left = true
    clearTimeout(timer)
    cancelAnimationFrame(frame)
  })
  return { blocks, references, shown }
}
