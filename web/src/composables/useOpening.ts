/** Opening addresses of a text: one dialog for all of its links, in which the whole address is seen first. */
import { inject, provide, shallowRef, type InjectionKey, type ShallowRef } from 'vue'

import type { Address } from '@/markdown/addresses'

const KEY: InjectionKey<(address: Address) => void> = Symbol('ask to open')

/** For what holds links: `asked` is the address that is to be shown. */
export function useOpening(): { asked: ShallowRef<Address | null> } {
  const asked = shallowRef<Address | null>(null)
  provide(KEY, (address) => (asked.value = address))
  return { asked }
}

/** For a link: asks for its address to be shown. Without anyone to ask, nothing happens. */
export function useAskToOpen(): (address: Address) => void {
  return inject(KEY, () => undefined)
}
