/** Taking a conversation along: all of it is fetched, written down in the browser and handed over as a file. */
import { ref, type Ref } from 'vue'
import { useI18n } from 'vue-i18n'

import { api } from '@/api/client'
import type { Session } from '@/api/types'
import { asJson, asMarkdown, exportName, type ExportWords } from '@/run/exporting'
import { wholeHistory } from '@/run/history'

import { useDownload } from './useDownload'
import { useProblem } from './useProblem'

export type ExportKind = 'markdown' | 'json'

export function useExport(sessionId: Ref<string>) {
  const { t, d } = useI18n()
  const { words: wordsOf } = useProblem()
  const { download } = useDownload()
  const exporting = ref(false)
  const problem = ref('')

  const words: ExportWords = {
    get untitled() {
      return t('chat.untitled')
    },
    get exported() {
      return t('chat.export.exported')
    },
    get user() {
      return t('chat.export.user')
    },
    get thinking() {
      return t('chat.export.thinking')
    },
    get answer() {
      return t('chat.export.answer')
    },
    get files() {
      return t('chat.export.files')
    },
    approval: (decision) => t(`house.verdict.${decision}`),
    outcome: (outcome) => t(`house.outcome.${outcome}`),
    ending: ({ ending }) => (ending && ending !== 'answered' ? t(`house.ending.${ending}`) : ''),
    moment: (at) => d(at, 'long'),
  }

  async function save(kind: ExportKind): Promise<void> {
    if (exporting.value) return
    exporting.value = true
    problem.value = ''
    try {
      const id = sessionId.value
      const [session, runs] = await Promise.all([api.get<Session>(`/sessions/${id}`), wholeHistory(id)])
      const now = Date.now()
      if (kind === 'json') download(exportName(session, 'json'), 'application/json', [asJson(session, runs, now)])
      else download(exportName(session, 'md'), 'text/markdown;charset=utf-8', [asMarkdown(session, runs, now, words)])
    } catch (error) {
      problem.value = wordsOf(error)
    } finally {
      exporting.value = false
    }
  }
  return { exporting, problem, save }
}
