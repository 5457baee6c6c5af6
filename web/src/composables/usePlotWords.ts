/** A plot in words: its numbers as they are written in the document, and what it shows in one sentence. */
import { computed } from 'vue'
import { useI18n } from 'vue-i18n'

import type { Plot } from './documentCharts'

export function usePlotWords(plot: () => Plot) {
  const { t, locale } = useI18n()

  function written(value: number): string {
    const { prefix, suffix, places } = plot()
    const digits = new Intl.NumberFormat(locale.value, { maximumFractionDigits: places }).format(value)
    return digits.startsWith('-') ? `-${prefix}${digits.slice(1)}${suffix}` : `${prefix}${digits}${suffix}`
  }
  const summary = computed(() => {
    const { kind, title, categories, series } = plot()
    const names = series.map((each) => each.name).join(', ')
    return t(`files.chart.${kind}`, { title, count: categories.length, names })
  })
  return { written, summary }
}
