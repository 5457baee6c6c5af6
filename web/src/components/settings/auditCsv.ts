/** The audit as a table for spreadsheets, in which nothing that somebody wrote becomes a formula. */
import type { AuditEntry } from '@/api/types'

const COLUMNS = [
  'id',
  'at',
  'user_id',
  'action',
  'target',
  'run_id',
  'call_id',
  'effect',
  'digest',
  'decision',
  'result',
] as const satisfies readonly (keyof AuditEntry)[]

/** A field that a spreadsheet takes for a text: what begins like a formula gets an apostrophe in front. */
export function csvField(value: string | number): string {
  const text = String(value)
  const safe = typeof value === 'string' && /^\s*[=+\-@]|^[\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** The whole table, with a head and times in UTC. */
export function auditCsv(entries: readonly AuditEntry[]): string {
  const rows = entries.map((entry) =>
    COLUMNS.map((name) => csvField(name === 'at' ? new Date(entry.at).toISOString() : entry[name])),
  )
  return [[...COLUMNS], ...rows].map((row) => `${row.join(',')}\r\n`).join('')
}
