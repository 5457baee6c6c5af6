/** Two runs held against each other: which calls correspond, and in what figures they differ. Pure. */
import { readStamp } from './stamp'
import { callsOf, waitedOf, type CallView, type RunView } from './view'

/** Calls of both that correspond, or a call that only one of them made. */
export interface Pair {
  one: CallView | null
  other: CallView | null
  /** Only where there are both. */
  sameArguments: boolean
  sameResult: boolean
}

export interface Figure {
  name: 'steps' | 'calls' | 'failures' | 'milliseconds' | 'waited' | 'input' | 'output' | 'cached' | 'reasoning'
  one: number | null
  other: number | null
  /** The second less the first. */
  difference: number | null
}

const SAME = 3
const ALIKE = 2
/** Squares of the table that is filled at most; behind that calls are put side by side by their number. */
const MOST = 1_000_000

/** In order: those with the same tool and arguments first of all, then those with the same tool. */
export function align(one: RunView, other: RunView, most = MOST): Pair[] {
  const [left, right] = [callsOf(one), callsOf(other)]
  if ((left.length + 1) * (right.length + 1) > most) return byNumber(left, right)
  const keys = [left.map(canonical), right.map(canonical)] as const
  const width = right.length + 1
  const best = new Float64Array((left.length + 1) * width)
  const worth = (i: number, j: number) => {
    if (left[i]?.name !== right[j]?.name) return 0
    return keys[0][i] === keys[1][j] ? SAME : ALIKE
  }
  const at = (i: number, j: number) => best[i * width + j] ?? 0
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      const both = worth(i, j)
      best[i * width + j] = Math.max(at(i + 1, j), at(i, j + 1), both ? at(i + 1, j + 1) + both : 0)
    }
  }
  const pairs: Pair[] = []
  let [i, j] = [0, 0]
  while (i < left.length || j < right.length) {
    const both = i < left.length && j < right.length ? worth(i, j) : 0
    if (both && at(i, j) === at(i + 1, j + 1) + both) {
      pairs.push(pair(left[i] ?? null, right[j] ?? null))
      i += 1
      j += 1
    } else if (j >= right.length || (i < left.length && at(i + 1, j) >= at(i, j + 1))) {
      pairs.push(pair(left[i] ?? null, null))
      i += 1
    } else {
      pairs.push(pair(null, right[j] ?? null))
      j += 1
    }
  }
  return pairs
}

function byNumber(left: readonly CallView[], right: readonly CallView[]): Pair[] {
  return Array.from({ length: Math.max(left.length, right.length) }, (_, i) => pair(left[i] ?? null, right[i] ?? null))
}

function pair(one: CallView | null, other: CallView | null): Pair {
  if (!one || !other) return { one, other, sameArguments: false, sameResult: false }
  return {
    one,
    other,
    sameArguments: one.name === other.name && canonical(one) === canonical(other),
    sameResult: one.outcome === other.outcome && readStamp(one).text === readStamp(other).text,
  }
}

/** Arguments in one spelling: the order of names and blanks do not count. What is no JSON stays as it was written. */
function canonical(call: CallView): string {
  try {
    return `${call.name} ${JSON.stringify(sorted(JSON.parse(call.arguments || '{}')))}`
  } catch {
    return `${call.name} ${call.arguments}`
  }
}

/** Arguments for reading: each on its own line, in the order of their names. */
export function spread(text: string): string {
  try {
    return JSON.stringify(sorted(JSON.parse(text || '{}')), null, 2)
  } catch {
    return text
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([name, each]) => [name, sorted(each)]))
}

export function figures(one: RunView, other: RunView): Figure[] {
  const [left, right] = [counted(one), counted(other)]
  return (Object.keys(left) as Figure['name'][]).map((name) => {
    const [a, b] = [left[name], right[name]]
    return { name, one: a, other: b, difference: a === null || b === null ? null : b - a }
  })
}

function counted(view: RunView): Record<Figure['name'], number | null> {
  const calls = callsOf(view)
  return {
    steps: view.items.filter((item) => item.kind === 'step').length,
    calls: calls.length,
    failures: calls.filter((call) => call.outcome !== null && call.outcome !== 'done').length,
    milliseconds: view.startedAt === null || view.endedAt === null ? null : view.endedAt - view.startedAt,
    waited: view.endedAt === null ? null : waitedOf(view, view.endedAt),
    input: view.usage.input_tokens,
    output: view.usage.output_tokens,
    cached: view.usage.cached_tokens,
    reasoning: view.usage.reasoning_tokens,
  }
}
