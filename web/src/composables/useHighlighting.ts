/** The colours of a piece of code, as soon as they are there. Of code that is being written, the end has none for a while. */
import { shallowRef, watch, type ShallowRef } from 'vue'

import { highlighted, languageOf } from '@/markdown/highlighting'
import type { Sanitised } from '@/markdown/sanitised'

export interface Colours {
  content: Sanitised
  /** The code that is coloured: the beginning of the whole, or all of it. */
  code: string
}

/** Code that is written is coloured anew when it has grown by this part of itself: the work grows with it, and not faster. */
const PART = 4

export function useHighlighting(code: () => string, language: () => string, live: () => boolean): ShallowRef<Colours | null> {
  const colours = shallowRef<Colours | null>(null)

  async function colour(text: string, name: string): Promise<void> {
    const content = languageOf(name) ? await highlighted(text, name) : null
    const newer = text.length >= (colours.value?.code.length ?? 0)
    if (newer && language() === name && code().startsWith(text)) colours.value = content && { content, code: text }
  }
  watch(
    [code, language, live],
    ([text, name, written], [, before]) => {
      const known = colours.value?.code
      if (known !== undefined && (name !== before || !text.startsWith(known))) colours.value = null
      else if (known === text || (written && known !== undefined && text.length - known.length < known.length / PART)) return
      void colour(text, name)
    },
    { immediate: true },
  )
  return colours
}
