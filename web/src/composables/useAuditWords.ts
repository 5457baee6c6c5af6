/** What a line of the audit says, in words; codes that have none stay as they are. */
import { useI18n } from 'vue-i18n'

import type { AuditEntry } from '@/api/types'

import { usePeople } from './usePeople'

export function useAuditWords() {
  const { t, te } = useI18n()
  const people = usePeople()

  function known(key: string, otherwise: string): string {
    return te(key) ? t(key) : otherwise
  }
  function user(entry: AuditEntry): string {
    return people.isMe(entry.user_id) ? t('rules.audit.you') : people.nameOf(entry.user_id)
  }
  function action(entry: AuditEntry): string {
    return known(`rules.audit.action.${entry.action}`, entry.action)
  }
  function effect(entry: AuditEntry): string {
    return entry.effect && known(`house.effect.${entry.effect}`, entry.effect)
  }
  /** An approval is named by its number within the run. */
  function decision(entry: AuditEntry): string {
    if (entry.decision === 'refused') return t('rules.audit.refused')
    return entry.run_id && entry.decision.startsWith(`${entry.run_id}.`)
      ? `#${entry.decision.slice(entry.run_id.length + 1)}`
      : entry.decision
  }
  /** An outcome, with the code of why it was so. */
  function result(entry: AuditEntry): string {
    if (entry.action === 'decide') return known(`house.verdict.${entry.result}`, entry.result)
    const [outcome = '', code = ''] = entry.result.split(':', 2)
    const words = known(`house.outcome.${outcome}`, outcome)
    return code ? `${words} · ${code}` : words
  }
  return { user, action, effect, decision, result }
}
