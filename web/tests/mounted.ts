/** Components on a page of their own, for tests: with the texts and the addresses, and without anything else around them. */
import { createPinia } from 'pinia'
import { createApp, h, nextTick, reactive, type App, type Component } from 'vue'
import { createMemoryHistory, createRouter, type RouteRecordRaw } from 'vue-router'

import { i18n } from '@/i18n'
import { router } from '@/router'

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
  const routes = router.options.routes.map((route) => ({ ...route, component: { render: () => null } })) as RouteRecordRaw[]
  app
    .use(createPinia())
    .use(i18n)
    .use(createRouter({ history: createMemoryHistory(), routes }))
    .mount(root)
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
