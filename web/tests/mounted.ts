/** Components on a page of their own, for tests: with the texts, and without anything else around them. */
import { createPinia } from 'pinia'
import { createApp, h, nextTick, reactive, type App, type Component } from 'vue'

import { i18n } from '@/i18n'

export interface Mounted {
  root: HTMLElement
  /** Give it other properties, and wait until they are drawn. */
  give: (properties: Record<string, unknown>) => Promise<void>
  close: () => void
}

export function mounted(component: Component, properties: Record<string, unknown>): Mounted {
  window.matchMedia ??= () => ({ matches: false, addEventListener: () => undefined }) as unknown as MediaQueryList
  const given = reactive({ ...properties })
  const root = document.createElement('div')
  document.body.append(root)
  const app: App = createApp({ render: () => h(component, { ...given }) })
  app.use(createPinia()).use(i18n).mount(root)
  return {
    root,
    give: async (more) => {
      Object.assign(given, more)
      await nextTick()
    },
    close: () => {
      app.unmount()
      root.remove()
    },
  }
}

/** Wait until something holds. The bound is for what never comes, also on a machine with much else to do. */
export async function until(holds: () => boolean): Promise<void> {
  const end = Date.now() + 20_000
  while (!holds()) {
    if (Date.now() > end) throw new Error('it never came to be')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
