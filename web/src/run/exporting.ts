/** A conversation as a document to take along: Markdown for reading, JSON for programs. Knows no server and no page. */
import type { Session } from '@/api/types'

import type { KeptRun } from './history'
import { fold } from './reducer'
import type { CallView, Item, RunView, StepItem, UserItem } from './view'

/** The words that a document is written with. */
export interface ExportWords {
  untitled: string
  exported: string
  user: string
  thinking: string
  answer: string
  files: string
  approval: (decision: string) => string
  outcome: (outcome: string) => string
  ending: (view: RunView) => string
  moment: (at: number) => string
}

/** The format of the JSON document; what is added later does not change it, what is changed does. */
const FORMAT = 'zeno-conversation-1'

export function asJson(session: Session, runs: readonly KeptRun[], now: number): string {
  return JSON.stringify({ format: FORMAT, exported_at: now, session, runs }, null, 2) + '\n'
}

export function asMarkdown(session: Session, runs: readonly KeptRun[], now: number, words: ExportWords): string {
  const head = [`# ${oneLine(session.title) || words.untitled}`, `*${words.exported} ${words.moment(now)}*`]
  const told = runs.map((kept) => runText(kept, words))
  return [...head, ...told].join('\n\n') + '\n'
}

/** A name for the document that every file system takes. */
export function exportName(session: Session, ending: string): string {
  const title = oneLine(session.title).replace(/[\p{Cc}<>:"/\\|?*]/gu, '_')
  const name = [...title]
    .slice(0, 60)
    .join('')
    .replace(/^[.\s]+|[.\s]+$/g, '')
  return `${name || `zeno-${session.id.slice(0, 8)}`}.${ending}`
}

function runText({ run, events }: KeptRun, words: ExportWords): string {
  const view = fold(run.id, events)
  const items = view.items.flatMap((item) => itemText(item, words))
  // A run that has not begun, or whose log is no longer kept, is known by its task alone.
  const said = view.items.some((item) => item.kind === 'user')
  const first = said ? [] : [`## ${words.user} · ${words.moment(run.created_at)}`, run.task]
  const ending = words.ending(view)
  return ['---', ...first, ...items, ...(ending ? [`*${ending}*`] : [])].join('\n\n')
}

function itemText(item: Item, words: ExportWords): string[] {
  if (item.kind === 'user') return userText(item, words)
  return item.kind === 'step' ? stepText(item, words) : []
}

function userText(item: UserItem, words: ExportWords): string[] {
  const texts = item.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const files = item.parts.flatMap((part) => (part.type === 'file' ? [code(part.path)] : []))
  const brought = files.length ? [`${words.files}: ${files.join(', ')}`] : []
  return [`## ${words.user} · ${words.moment(item.at)}`, ...texts, ...brought]
}

function stepText(step: StepItem, words: ExportWords): string[] {
  const thinking = step.thinking.trim() ? [`**${words.thinking}**`, quoted(step.thinking.trim())] : []
  const answers = step.text.trim() && !step.calls.length
  const text = step.text.trim() ? [...(answers ? [`## ${words.answer}`] : []), step.text.trim()] : []
  return [...thinking, ...text, ...step.calls.map((call) => callText(call, words))]
}

function callText(call: CallView, words: ExportWords): string {
  const outcome = call.outcome ? ` — ${words.outcome(call.outcome)}` : ''
  const decision = call.approval?.decision ? `, ${words.approval(call.approval.decision.type)}` : ''
  const parts = [`**${code(call.name)}**${outcome}${decision}`, fenced(call.arguments, 'json')]
  if (call.text.trim()) parts.push(fenced(call.text.trimEnd(), ''))
  if (call.files.length) parts.push(`${words.files}: ${call.files.map((file) => code(file.path)).join(', ')}`)
  return parts.join('\n\n')
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function quoted(text: string): string {
  return text.replace(/^/gm, '> ')
}

/** A block that its content cannot leave. */
function fenced(text: string, language: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1))
  return `${fence}${language}\n${text}\n${fence}`
}

function code(text: string): string {
  const ticks = '`'.repeat(longestRun(text) + 1)
  const room = /^`|`$/.test(text) ? ' ' : ''
  return `${ticks}${room}${oneLine(text)}${room}${ticks}`
}

/** How many backticks stand together in it at most. */
function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((ticks) => ticks.length))
}
