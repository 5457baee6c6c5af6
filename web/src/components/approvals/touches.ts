/** What a call names that it would touch: read from its arguments, by their form and their names. A hint, and no proof. */
import { isObject, type Value, type Values } from './arguments'

export type TouchKind = 'address' | 'host' | 'database' | 'table' | 'path'

export interface Touched {
  kind: TouchKind
  /** What is named; for a host with the method where there is one. */
  name: string
}

export interface Touches {
  named: Touched[]
  /** A statement that changes or removes rows without saying which. */
  everyRow: boolean
}

const ADDRESS = /^[^\s@<>,;]+@[^\s@<>,;]+$/
const NAMED_ADDRESS = /^[^<>]*<([^\s@<>]+@[^\s@<>]+)>$/
const HOST_NAMES = /^(host|hostname|server|domain|endpoint)$/i
const DATABASE_NAMES = /^(database|db|schema)$/i
const TABLE_NAMES = /^(tables?|table_name|relation)$/i
const STATEMENT_NAMES = /^(sql|statement|query)$/i
const STATEMENT = /^\s*(with|select|insert|update|delete|create|drop|alter|truncate|merge|replace)\b/i
const PATH_NAMES = /(^|_)(paths?|files?|filename|folder|directory|attachments?|destination)$/i
const PART = String.raw`(?:"[^"]+"|\x60[^\x60]+\x60|\[[^\]]+\]|[\p{L}_][\p{L}\p{N}_$]*)`
const TABLE = new RegExp(
  String.raw`\b(?:into|update(?:\s+only)?|from|join|truncate(?:\s+table)?|table(?:\s+if\s+(?:not\s+)?exists)?)\s+(${PART}(?:\s*\.\s*${PART})*)`,
  'giu',
)
const NO_TABLES = new Set(['select', 'set', 'only', 'table', 'lateral', 'unnest', 'if', 'values'])

/** What the arguments of a call name, each once. */
export function touches(values: Values): Touches {
  const named = new Map<string, Touched>()
  let everyRow = false
  const method = typeof values['method'] === 'string' ? values['method'] : ''
  for (const [name, text] of texts(values)) {
    for (const touched of ofText(name, text, method)) named.set(`${touched.kind} ${touched.name}`, touched)
    if (isStatement(name, text) && changesEveryRow(text)) everyRow = true
  }
  return { named: [...named.values()], everyRow }
}

/** All texts among the arguments, each by the name that it stands under. */
function* texts(values: Values): Generator<[string, string]> {
  for (const [name, value] of Object.entries(values)) yield* textsOf(name, value)
}

function* textsOf(name: string, value: Value): Generator<[string, string]> {
  if (typeof value === 'string') yield [name, value]
  else if (Array.isArray(value)) for (const each of value) yield* textsOf(name, each)
  else if (isObject(value)) yield* texts(value)
}

function ofText(name: string, text: string, method: string): Touched[] {
  const host = hostOf(text)
  if (host) return [{ kind: 'host', name: method ? `${method} ${host}` : host }]
  const addresses = addressesOf(text)
  if (addresses.length) return addresses.map((each) => ({ kind: 'address', name: each }))
  if (isStatement(name, text)) return tablesOf(text).map((each) => ({ kind: 'table', name: each }))
  const kind = kindByName(name)
  return kind && text.trim() ? [{ kind, name: text }] : []
}

function isStatement(name: string, text: string): boolean {
  return STATEMENT_NAMES.test(name) && STATEMENT.test(bare(text))
}

function kindByName(name: string): TouchKind | null {
  if (HOST_NAMES.test(name)) return 'host'
  if (DATABASE_NAMES.test(name)) return 'database'
  if (TABLE_NAMES.test(name)) return 'table'
  return PATH_NAMES.test(name) ? 'path' : null
}

/** The host that a web address really leads to: without a user in front of it, foreign letters as they are sent. */
function hostOf(text: string): string | null {
  if (!/^\s*[a-z][a-z0-9+.-]*:\/\//i.test(text) || /\s/.test(text.trim())) return null
  try {
    return new URL(text).host || null
  } catch {
    return null
  }
}

function addressesOf(text: string): string[] {
  const found = text
    .split(/[,;]/)
    .map((each) => each.trim())
    .filter(Boolean)
    .map((each) => (ADDRESS.test(each) ? each : NAMED_ADDRESS.exec(each)?.[1]))
  return found.every((each) => each !== undefined) ? found : []
}

/** A statement without comments and texts, so that nothing inside them is taken for a name. */
function bare(statement: string): string {
  return statement.replace(/--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'/g, ' ')
}

function tablesOf(statement: string): string[] {
  const found = [...bare(statement).matchAll(TABLE)].map((match) => unspaced(match[1] ?? ''))
  return found.filter((name) => !NO_TABLES.has(name.toLowerCase()))
}

/** A name without the spaces around its dots; those inside quotes belong to it. */
function unspaced(name: string): string {
  return name.replace(/("[^"]*"|`[^`]*`|\[[^\]]*\])|\s+/g, (_, quoted: string | undefined) => quoted ?? '')
}

function changesEveryRow(statement: string): boolean {
  const text = bare(statement)
  return /^\s*truncate\b/i.test(text) || (/^\s*(update|delete)\b/i.test(text) && !/\bwhere\b/i.test(text))
}
