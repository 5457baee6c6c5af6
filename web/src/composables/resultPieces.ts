/** What a tool's result is made of: text, JSON, tables. It is only recognised and never changed; what is not sure stays text. Pure. */
import { indented } from './jsonText'

export type Cell = string | null
export type Piece =
  { kind: 'text'; text: string } | { kind: 'json'; text: string } | { kind: 'table'; columns: string[]; rows: Cell[][] }

const OPEN = '```json\n'
const CLOSE = '\n```'
const RULE = /^\|(?:\s*:?-{3,}:?\s*\|)+\s*$/

export function pieces(text: string): Piece[] {
  const open = text.indexOf(OPEN)
  const close = open < 0 ? -1 : text.indexOf(CLOSE, open + OPEN.length)
  if (close >= 0) {
    const json = jsonPiece(text.slice(open + OPEN.length, close))
    return json ? [...textPiece(text.slice(0, open)), json, ...textPiece(text.slice(close + CLOSE.length))] : textPiece(text)
  }
  const json = /^\s*[[{]/.test(text) ? jsonPiece(text) : null
  return json ? [json] : withTable(text)
}

function textPiece(text: string): Piece[] {
  const trimmed = text.trim()
  return trimmed ? [{ kind: 'text', text: trimmed }] : []
}

function jsonPiece(text: string): Piece | null {
  const laidOut = indented(text)
  if (laidOut === null) return null
  return tableOf(JSON.parse(text)) ?? { kind: 'json', text: laidOut }
}

/** Rows with names for their columns, the way the tools that query tables give them. */
function tableOf(value: unknown): Piece | null {
  if (typeof value !== 'object' || value === null) return null
  const { columns, rows } = value as Record<string, unknown>
  const named = Array.isArray(columns) && columns.every((name) => typeof name === 'string') && columns.length > 0
  if (!named || !Array.isArray(rows) || !rows.length) return null
  const flat = rows.every((row) => Array.isArray(row) && row.length === columns.length && row.every(isPlain))
  return flat ? { kind: 'table', columns: columns as string[], rows: (rows as unknown[][]).map((row) => row.map(shown)) } : null
}

function isPlain(value: unknown): boolean {
  return value === null || typeof value !== 'object'
}

function shown(value: unknown): Cell {
  return value === null ? null : String(value)
}

/** A table of lines between bars, with what stands around it. */
function withTable(text: string): Piece[] {
  const lines = text.split('\n')
  const rule = lines.findIndex((line, place) => place > 0 && RULE.test(line) && (lines[place - 1] ?? '').startsWith('|'))
  if (rule < 0) return textPiece(text)
  const after = lines.findIndex((line, place) => place > rule && !line.startsWith('|'))
  const end = after < 0 ? lines.length : after
  const columns = cellsOf(lines[rule - 1] ?? '')
  const rows = lines.slice(rule + 1, end).map(cellsOf)
  if (!rows.length || rows.some((row) => row.length !== columns.length)) return textPiece(text)
  const [before, behind] = [lines.slice(0, rule - 1).join('\n'), lines.slice(end).join('\n')]
  return [...textPiece(before), { kind: 'table', columns, rows }, ...textPiece(behind)]
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .replace(/^\|\s?|\s?\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replace(/\\\|/g, '|'))
}
