/** What the browser calls the window while a page is looked at. */
import { onBeforeUnmount, watchEffect } from 'vue'
import { useI18n } from 'vue-i18n'

export function useTitle(title: () => string): void {
  const { t } = useI18n()
  watchEffect(() => (document.title = `${title()} · ${t('shell.name')}`))
  onBeforeUnmount(() => (document.title = t('shell.name')))
}
