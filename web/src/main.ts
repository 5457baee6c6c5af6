/** Puts the page together. */
// Before the router, which keeps the address it finds.
import '@/arrival'
import '@/styles.css'

import { createPinia } from 'pinia'
import { createApp } from 'vue'

import App from '@/App.vue'
import { refuseFiles } from '@/composables/useFileDrop'
import { i18n } from '@/i18n'
import { router } from '@/router'

refuseFiles()
createApp(App).use(createPinia()).use(i18n).use(router).mount('#app')
