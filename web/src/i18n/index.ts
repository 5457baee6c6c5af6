/** The languages of the page. The shared texts (endings, errors, causes) come from the house's own catalogues. */
import { createI18n } from 'vue-i18n'

import { approvals } from './approvals'
import catalogue from './catalogue.gen.json'
import { chat } from './chat'
import { files } from './files'
import { rules } from './rules'
import { runs } from './runs'
import { settings } from './settings'
import { shell } from './shell'
import { steps } from './steps'
import { welcome } from './welcome'

export const LANGUAGES = ['zh-CN', 'en-US'] as const
export type Language = (typeof LANGUAGES)[number]

export const AREAS = { shell, welcome, chat, steps, files, approvals, rules, runs, settings }

function texts(language: Language) {
  const own = Object.fromEntries(Object.entries(AREAS).map(([name, area]) => [name, area[language]]))
  return { ...own, house: catalogue[language] }
}

/** The language that the browser asks for. */
export function preferred(wished: readonly string[] = navigator.languages): Language {
  for (const each of wished) {
    if (each.toLowerCase().startsWith('zh')) return 'zh-CN'
    if (each.toLowerCase().startsWith('en')) return 'en-US'
  }
  return 'en-US'
}

const NUMBERS = {
  decimal: { maximumFractionDigits: 2 },
  seconds: { minimumFractionDigits: 1, maximumFractionDigits: 1 },
  cost: { minimumFractionDigits: 2, maximumFractionDigits: 4 },
} as const

const DATES = {
  time: { hour: '2-digit', minute: '2-digit', second: '2-digit' },
  short: { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' },
  long: { dateStyle: 'medium', timeStyle: 'medium' },
} as const

export const i18n = createI18n({
  legacy: false,
  locale: preferred(),
  fallbackLocale: 'en-US',
  messages: { 'en-US': texts('en-US'), 'zh-CN': texts('zh-CN') } as Record<Language, ReturnType<typeof texts>>,
  numberFormats: { 'en-US': NUMBERS, 'zh-CN': NUMBERS },
  datetimeFormats: { 'en-US': DATES, 'zh-CN': DATES },
})
