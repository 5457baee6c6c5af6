/** JSON as text: laid out without being changed. Large numbers keep their digits, names that come twice stay twice. Pure. */

/** Characters that are laid out; more of them are left as they are. */
const LONGEST = 500_000

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** `text` with a line for each member, or `null` when it is not valid JSON. */
export function indented(text: string): string | null {
  if (text.length > LONGEST || !isJson(text)) return null
  let depth = 0
  let laidOut = ''
  const line = () => `\n${'  '.repeat(depth)}`
  const tokens = text.match(TOKEN) ?? []
  for (const [place, token] of tokens.entries()) {
    const next = tokens[place + 1] ?? ''
    if (token === '{' || token === '[') {
      depth += 1
      laidOut += token + (next === '}' || next === ']' ? '' : line())
    } else if (token === '}' || token === ']') {
      depth -= 1
      const empty = tokens[place - 1] === '{' || tokens[place - 1] === '['
      laidOut += (empty ? '' : line()) + token
    } else laidOut += token === ',' ? `,${line()}` : token === ':' ? ': ' : token
  }
  return laidOut
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The members of a JSON object, each value as it is written; `null` when the text is none. */
export function members(text: string): Record<string, unknown> | null {
  if (text.length > LONGEST) return null
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** The names of members that differ between two objects, sorted. */
export function changedMembers(one: string, other: string): string[] {
  const [before, after] = [members(one) ?? {}, members(other) ?? {}]
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => !same(before[name], after[name])).sort()
}

function same(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return one === other
  const [before, after] = [Object.entries(one), Object.entries(other)]
  if (Array.isArray(one) !== Array.isArray(other) || before.length !== after.length) return false
  return before.every(([name, value]) => same(value, (other as Record<string, unknown>)[name]))
}

/** The plain members of an object in one line, for a glance. */
export function glance(text: string, most = 90): string {
  const found = members(text)
  const plain = Object.entries(found ?? {}).flatMap(([name, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value) ? [`${name}: ${String(value)}`] : [],
  )
  const line = plain.join(' · ').replace(/\s+/g, ' ')
  return line.length > most ? `${line.slice(0, most)}…` : line
}
