import { describe, expect, it } from 'vitest'

import { NOTHING, split, type Split } from '@/markdown/blocks'
import { htmlOf } from '@/markdown/parser'

const SAMPLE = `# 第一季度销售

Sales grew by **12.3 %** in *March*, see [the source](https://example.com/a_b?x=1) and \`query_table\`.
It cost $5 and $6, that is $x^2 + y^2$ and \\(a \\cdot b\\).

## Table

| Month | Sales | Share |
|:------|------:|:-----:|
| January | 1,200 | 12 % |
| **February** | \`900\` | 9 % |

Text right before a list:
- one
- two with ~~struck~~ words
  - nested *deep*

- [ ] open task
- [x] done task

1. first
2. second

   a paragraph of the second

***

$$
\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}
$$

\\[
a = b
\\]

> a quote with __strong__ words
> that goes on

\`\`\`python
def f(x):
    # not a heading
    return x ** 2  # | a | b |
\`\`\`

![a picture](https://example.com/p.png) and <https://example.org/> and https://example.net/path_with_underscores.

#hashtag is no heading
***bold and italic*** to end with, 3 * 4 * 5, a_b_c.

| only | one line |
and text behind it

The end.
`

/** What was drawn after each character of a text that is being written. */
function written(text: string): { state: Split; html: string[] }[] {
  let state = NOTHING
  return Array.from({ length: text.length + 1 }, (_, length) => {
    state = split(text.slice(0, length), true, state)
    return { state, html: state.blocks.map((block) => htmlOf(block)) }
  })
}

/** Lines that mean something else together than each for itself. */
const PIECES = [
  ...[
    '# h',
    '#',
    '- a',
    '-',
    '1',
    '1.',
    '1. b',
    '2) c',
    '***',
    '---',
    '```',
    '```js',
    '~~~',
    '$$',
    '$$x$$',
    '\\[',
    '\\]',
    '| a | b |',
  ],
  ...[
    '|---|---|',
    '| 1 | 2 |',
    '> q',
    '>',
    '    code',
    '  - n',
    'text',
    '*em*',
    '**b',
    'b**',
    '[x](y)',
    '[r]: http://e.x',
    '===',
    '',
  ],
  ...['', '', '\t', '+', 'a | b', '--|--', '<b>', '1. x', '   more'],
]

/** The same numbers in the same order each time. */
function randomly(seed: number): (below: number) => number {
  let state = seed
  return (below) => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % below
}

describe('a text that is being written', () => {
  const steps = written(SAMPLE)

  it('leaves settled blocks as they are, whatever follows', () => {
    const whole = split(SAMPLE, false).blocks.map((block) => htmlOf(block))
    for (const { state, html } of steps) expect(html.slice(0, state.settled)).toEqual(whole.slice(0, state.settled))
  })

  it('ends as the same text does that was there at once', () => {
    let state = NOTHING
    for (let length = 0; length <= SAMPLE.length; length += 7) state = split(SAMPLE.slice(0, length), true, state)
    expect(split(SAMPLE, false, state).blocks).toEqual(split(SAMPLE, false).blocks)
  })

  it('settles almost everything, so that little is read again', () => {
    const { state } = steps.at(-1) ?? { state: NOTHING }
    expect(state.settled).toBe(state.blocks.length - 2)
    expect(state.prefix.length).toBeGreaterThan(SAMPLE.length - 200)
  })

  it('never shows the signs of what is begun and not there yet', () => {
    const shown = steps.map(({ html }) => html.at(-1) ?? '')
    const bare = shown.map((html) => html.replace(/<pre[\s\S]*?<\/pre>|<[^>]+>/g, ''))
    for (const text of bare) expect(text).not.toMatch(/\*\*|~~|`|\]\(|!\[|\$\$|\\\(|\\\[|__/)
  })

  it('never goes back to fewer words', () => {
    const words = steps.map(({ html }) =>
      html
        .join('')
        .replace(/<[^>]+>/g, '')
        .replace(/\s/g, ''),
    )
    words.forEach((now, index) => {
      const before = words[index - 1] ?? ''
      expect(now.startsWith(before), `${before.slice(-30)} -> ${now.slice(-30)}`).toBe(true)
    })
  })

  it('settles nothing that what follows would change, in whichever order things come', () => {
    const next = randomly(7)
    for (let round = 0; round < 250; round += 1) {
      const text = Array.from({ length: 3 + next(12) }, () => PIECES[next(PIECES.length)]).join('\n')
      const whole = split(text, false).blocks
      let state = NOTHING
      for (let length = 0; length <= text.length; length += 1) {
        state = split(text.slice(0, length), true, state)
        expect(state.blocks.slice(0, state.settled), text.slice(0, length)).toEqual(whole.slice(0, state.settled))
      }
      expect(split(text, false, state).blocks, text).toEqual(whole)
    }
  })
})
