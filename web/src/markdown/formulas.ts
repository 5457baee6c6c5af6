/** Formulas drawn by KaTeX, which is loaded when the first one is seen. Each is drawn once. */
import { sanitisedFormula, type Sanitised } from './sanitised'

type Katex = typeof import('katex').default

/** Characters of TeX; a longer one is shown as it was written. */
const LONGEST = 5_000
const MOST_KEPT = 500
/** No links, no pictures, no classes or styles of its own; neither endless macros nor giant rules. */
const BOUNDS = {
  trust: false,
  strict: 'ignore',
  maxSize: 20,
  maxExpand: 200,
  throwOnError: true,
  errorColor: 'currentColor',
} as const

const kept = new Map<string, Sanitised | null>()
let loading: Promise<Katex> | undefined
let katex: Katex | undefined

function load(): Promise<Katex> {
  loading ??= Promise.all([import('katex'), import('katex/dist/katex.min.css')])
    .then(([module]) => (katex = module.default))
    .catch((error: unknown) => {
      loading = undefined
      throw error
    })
  return loading
}

/** The formula if it can be drawn at once: `undefined` while KaTeX is not there, `null` when it is none. */
export function formulaNow(tex: string, display: boolean): Sanitised | null | undefined {
  const key = `${display}${tex}`
  const known = kept.get(key)
  if (known !== undefined) return known
  if (!katex) return tex.length > LONGEST ? null : undefined
  const drawn = drawnBy(katex, tex, display)
  if (kept.size >= MOST_KEPT) kept.clear()
  kept.set(key, drawn)
  return drawn
}

/** The formula as soon as it can be drawn, `null` when it cannot. */
export async function formula(tex: string, display: boolean): Promise<Sanitised | null> {
  try {
    await load()
  } catch {
    return null
  }
  return formulaNow(tex, display) ?? null
}

function drawnBy(engine: Katex, tex: string, display: boolean): Sanitised | null {
  if (tex.length > LONGEST) return null
  try {
    return sanitisedFormula(engine.renderToString(tex, { ...BOUNDS, displayMode: display, output: 'htmlAndMathml' }))
  } catch {
    return null
  }
}
