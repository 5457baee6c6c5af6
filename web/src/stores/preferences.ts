/** What a person prefers of the page itself: language and appearance. Kept in the browser; nothing of it is secret. */
import { defineStore } from 'pinia'
import { computed, ref, watchEffect } from 'vue'

import { useLanguage } from '@/api/client'
import { i18n, LANGUAGES, preferred, type Language } from '@/i18n'

export type Theme = 'light' | 'dark' | 'system'

function kept<T extends string>(key: string, allowed: readonly T[]): T | null {
  const value = localStorage.getItem(`zeno.${key}`)
  return allowed.find((each) => each === value) ?? null
}

export const usePreferences = defineStore('preferences', () => {
  const language = ref<Language>(kept('language', LANGUAGES) ?? preferred())
  const theme = ref<Theme>(kept('theme', ['light', 'dark', 'system'] as const) ?? 'system')
  const media = window.matchMedia('(prefers-color-scheme: dark)')
  const systemDark = ref(media.matches)
  media.addEventListener('change', (event) => (systemDark.value = event.matches))
  const dark = computed(() => theme.value === 'dark' || (theme.value === 'system' && systemDark.value))

  watchEffect(() => {
    i18n.global.locale.value = language.value
    document.documentElement.lang = language.value
    useLanguage(language.value)
  })
  watchEffect(() => {
    document.documentElement.dataset['theme'] = dark.value ? 'dark' : 'light'
  })

  function speak(chosen: Language): void {
    language.value = chosen
    localStorage.setItem('zeno.language', chosen)
  }
  function dress(chosen: Theme): void {
    theme.value = chosen
    localStorage.setItem('zeno.theme', chosen)
  }
  return { language, theme, dark, speak, dress }
})
