/** The colours of a piece of code, as soon as they are there; while it is being written only as long as it is short. */
import { shallowRef, watch, type ShallowRef } from 'vue'

import { highlighted, languageOf } from '@/markdown/highlighting'
import type { Sanitised } from '@/markdown/sanitised'

/** Characters of code that are coloured anew with every piece that is added. */
const SHORT = 4_000

/** `null` while there are none. What is coloured is always the whole code. */
export function useHighlighting(code: () => string, language: () => string, live: () => boolean): ShallowRef<Sanitised | null> {
  const colours = shallowRef<Sanitised | null>(null)
  watch(
    [code, language, live],
    async ([text, name, written]) => {
      const wanted = languageOf(name) && (!written || text.length <= SHORT)
      const found = wanted ? await highlighted(text, name) : null
      if (code() === text && language() === name) colours.value = found
      else if (!code().startsWith(text)) colours.value = null
    },
    { immediate: true },
  )
  return colours
}
