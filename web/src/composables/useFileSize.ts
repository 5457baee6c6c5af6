/** Sizes of files in words. */
import { useI18n } from 'vue-i18n'

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const

export function useFileSize() {
  const { locale } = useI18n()
  function size(bytes: number): string {
    const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1)
    const unit = UNITS[power] ?? 'byte'
    const format = { style: 'unit', unit, unitDisplay: power ? 'short' : 'long', maximumFractionDigits: power ? 1 : 0 } as const
    return new Intl.NumberFormat(locale.value, format).format(bytes / 1000 ** power)
  }
  return { size }
}
