/** The arguments of a call, read without losing a digit: what is shown is what would be carried out. Knows no schema. */

/** A whole number with more digits than the browser's numbers hold. It can be shown, and not be sent. */
export class ExactNumber {
  constructor(readonly digits: string) {}
}

export type Value = null | boolean | number | string | ExactNumber | Value[] | { [name: string]: Value }
export type Values = Record<string, Value>

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** A JSON text as a value. Throws `SyntaxError` when it is none. */
export function readValue(text: string): Value {
  const plain = JSON.parse(text) as Value
  const large = [...text.matchAll(TOKEN)].some(([token]) => isLarge(token))
  if (!large) return plain
  // A mark that no text in there begins with, whatever its author intended.
  let mark = '#'
  while (JSON.stringify(plain).includes(mark)) mark += '#'
  const marked = text.replace(TOKEN, (token) => (isLarge(token) ? `"${mark}${token}"` : token))
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? new ExactNumber(value.slice(mark.length)) : value,
  ) as Value
}

function isLarge(token: string): boolean {
  return /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token))
}

/** The arguments of a call; `null` when the text is no object. */
export function readArguments(text: string): Values | null {
  try {
    const value = readValue(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

export function isObject(value: Value): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
}

/** Whether something in there could not be sent as it is. */
export function holdsExactNumber(value: Value): boolean {
  if (value instanceof ExactNumber) return true
  if (Array.isArray(value)) return value.some(holdsExactNumber)
  return isObject(value) && Object.values(value).some(holdsExactNumber)
}

/** A value as JSON, with `indent` spaces of indentation; large numbers as they were written. */
export function asJson(value: Value, indent = 0, depth = 0): string {
  if (value instanceof ExactNumber) return value.digits
  const items = Array.isArray(value)
    ? value.map((each) => asJson(each, indent, depth + 1))
    : isObject(value)
      ? Object.entries(value).map(
          ([name, each]) => `${JSON.stringify(name)}:${indent ? ' ' : ''}${asJson(each, indent, depth + 1)}`,
        )
      : null
  if (!items) return JSON.stringify(value)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (!items.length || !indent) return `${open}${items.join(',')}${close}`
  const line = `\n${' '.repeat(indent * (depth + 1))}`
  return `${open}${line}${items.join(`,${line}`)}\n${' '.repeat(indent * depth)}${close}`
}

/** Whether two values are the same, whatever the order of their names. */
export function isSame(one: Value | undefined, other: Value | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return asJson(sorted(one)) === asJson(sorted(other))
}

function sorted(value: Value): Value {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const names = Object.keys(value).sort()
  return Object.fromEntries(names.map((name) => [name, sorted(value[name] ?? null)]))
}

/** The names of arguments, those that the tool knows first and in its order. */
export function inOrder(names: Iterable<string>, known: readonly string[]): string[] {
  const given = [...names]
  return [...known.filter((name) => given.includes(name)), ...given.filter((name) => !known.includes(name))]
}
