/** The patterns of rules: `*` is any text, `?` any character, and what stands in brackets is itself. */

export interface PatternWords {
  /** Whether only one text fits. */
  exact: boolean
  /** That text, or else the pattern. */
  text: string
}

/** What a pattern says. */
export function readPattern(pattern: string): PatternWords {
  const plain = pattern.replace(/\[([*?[])\]/g, '')
  if (/[*?[]/.test(plain)) return { exact: false, text: pattern }
  return { exact: true, text: pattern.replace(/\[([*?[])\]/g, '$1') }
}

/** The pattern that only this text fits. */
export function exactly(text: string): string {
  return text.replace(/[*?[]/g, '[$&]')
}

/** The pattern that somebody wrote with `*` and `?`; a bracket in it means itself. */
export function like(text: string): string {
  return text.replace(/\[/g, '[[]')
}
