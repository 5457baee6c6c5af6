/** What a bar of the timeline says of itself. */
import { useI18n } from 'vue-i18n'

import type { Bar } from '@/run/timeline'

import { useSpan } from './useSpan'

export function useBarWords() {
  const { t } = useI18n()
  const { span } = useSpan()

  function words(bar: Bar): string {
    const said = { step: bar.step, name: bar.name, took: span(bar.to - bar.from) }
    const open = bar.state === 'open'
    switch (bar.kind) {
      case 'gap':
        return t(`runs.timeline.gap.${bar.cause || 'idle'}`, said)
      case 'waiting':
        return t(open ? 'runs.timeline.waiting_open' : 'runs.timeline.waiting', said)
      case 'model':
        if (bar.state === 'void') return t('runs.timeline.model_void', said)
        return t(open ? 'runs.timeline.model_open' : 'runs.timeline.model', said)
      case 'tool':
        if (bar.state === 'void') return t('runs.timeline.tool_void', said)
        if (open) return t('runs.timeline.tool_open', said)
        return t('runs.timeline.tool', { ...said, outcome: t(`house.outcome.${bar.state}`) })
    }
  }
  return { words }
}
