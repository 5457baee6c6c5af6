import Markdown from 'markdown-it'
import { afterEach, describe, expect, it, vi } from 'vitest'

import MarkdownText from '@/components/markdown/MarkdownText.vue'
import { addressOf, partsOf, visible } from '@/markdown/addresses'
import { split } from '@/markdown/blocks'
import { htmlOf } from '@/markdown/parser'

import { mounted, until, type Mounted } from './mounted'

/** The formulas that are found in a text. */
function formulas(text: string): string[] {
  const found = htmlOf(text).matchAll(/<span class="z-math" data-display="(?:yes|no)">([^<]*)<\/span>/g)
  return [...found].map(([, tex = '']) => tex.replaceAll('&amp;', '&').replaceAll('&lt;', '<'))
}

let open: Mounted | undefined
afterEach(() => {
  open?.close()
  open = undefined
})

describe('money and formulas', () => {
  it.each([
    'It costs $5 and $6.',
    'From $5 to $10, or $5-$10.',
    'US$5 and A$6$',
    '价格$5，另一种$6，共$11元。',
    '$5元和6$元',
    '$1,000 in March, $2,000 in April',
    'from $5 to 10$',
    '$HOME/bin and $PATH',
    'echo $A $B',
    '$HOME/$USER',
    'A lone $ and another $ here',
    'escaped \\$x\\$ signs',
    '`$x$` in code',
    'a $ b$ with a space behind the first',
    '$the price is what it is$',
    '$$',
    '$$\n\nnot closed before the empty line $$',
  ])('%s: holds no formula', (text) => {
    expect(formulas(text)).toEqual([])
  })

  it.each([
    ['Let $x$ be', ['x']],
    ['$E = mc^2$.', ['E = mc^2']],
    ['$2x + 1$ and $10^5$ and $42$', ['2x + 1', '10^5', '42']],
    ['paid $5 for $x + y$', ['x + y']],
    ['$\\text{price in dollars} = p$', ['\\text{price in dollars} = p']],
    ['设$x_1$与$x_2$', ['x_1', 'x_2']],
    ['\\(a < b\\) and \\[c\\]', ['a < b', 'c']],
    ['$$a + b$$', ['a + b']],
    ['text $$a$$ text', ['a']],
    ['$$\n\\begin{aligned}\na &= b \\\\\n- c\n\\end{aligned}\n$$', ['\\begin{aligned}\na &= b \\\\\n- c\n\\end{aligned}']],
    ['- item $$x$$\n- \\(y\\)', ['x', 'y']],
    ['| $a$ | b |\n|---|---|\n| \\(c\\) | $5 |', ['a', 'c']],
    ['a price of \\$5 and $x$', ['x']],
  ])('%s: holds %s', (text, expected) => {
    expect(formulas(text)).toEqual(expected)
  })
})

describe('an address', () => {
  it('shows the host that answers, whatever stands before it', () => {
    const address = addressOf('https://www.bank.example@evil.example/login')
    expect(address?.host).toBe('evil.example')
    expect(address?.doubts).toEqual(['userinfo'])
    expect(address && partsOf(address)).toEqual({ before: 'https://www.bank.example@', host: 'evil.example', after: '/login' })
  })

  it('is shown in punycode where its letters look like others', () => {
    const address = addressOf('https://аррӏе.com/')
    expect(address?.host).toBe('xn--80ak6aa92e.com')
    expect(address?.href).toBe('https://xn--80ak6aa92e.com/')
    expect(address?.doubts).toEqual(['lookalike'])
  })

  it('has nothing in it that turns the reading direction or cannot be seen', () => {
    const address = addressOf('https://example.com/\u202egpj.exe?\u200bq=\u00ad')
    expect(address?.href).toBe('https://example.com/%E2%80%AEgpj.exe?%E2%80%8Bq=%C2%AD')
    expect(visible('gpj\u202eexe.\u200b')).toBe('gpj\\u{202e}exe.\\u{200b}')
  })

  it('names its host once, also where the path names it again', () => {
    const address = addressOf('https://a.example:8080/a.example:8080?a.example:8080')
    expect(address && partsOf(address)).toEqual({
      before: 'https://',
      host: 'a.example:8080',
      after: '/a.example:8080?a.example:8080',
    })
  })

  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://a/b',
    'tel:1',
    '/local',
    'x',
    '',
  ])('%s: is none that may be opened', (written) => expect(addressOf(written)).toBeNull())
})

describe('a link', () => {
  it('is text with its true host, and opens only after its whole address was seen', async () => {
    const opened = vi.spyOn(window, 'open').mockReturnValue(null)
    open = mounted(MarkdownText, { source: '[my bank](https://evil.example/path?x=1)' })
    const link = open.root.querySelector('[data-test=link]')
    expect(link?.textContent).toContain('my bank')
    expect(link?.textContent).toContain('evil.example')
    link?.querySelector('button')?.click()
    await until(() => document.querySelector('[data-test=whole-address]') !== null)
    expect(document.querySelector('[data-test=whole-address]')?.textContent).toBe('https://evil.example/path?x=1')
    expect(opened).not.toHaveBeenCalled()
    document.querySelector<HTMLElement>('[data-test=open-address]')?.click()
    expect(opened).toHaveBeenCalledExactlyOnceWith('https://evil.example/path?x=1', '_blank', 'noopener,noreferrer')
  })

  it('whose text is its address reads as it will be asked for', () => {
    open = mounted(MarkdownText, { source: '<https://аррӏе.com/> and https://аррӏе.com/' })
    expect(open.root.textContent).not.toContain('аррӏе')
    expect(open.root.textContent).toContain('https://xn--80ak6aa92e.com/')
  })

  it('that leads nowhere outside is text with its target', () => {
    open = mounted(MarkdownText, { source: '[report](out/report.docx)' })
    expect(open.root.textContent).toContain('report (out/report.docx)')
    expect(open.root.querySelector('button')).toBeNull()
  })

  it('by name is known in the whole of a text once it is there', async () => {
    open = mounted(MarkdownText, { source: 'see [it][1]\n\nmore\n\n[1]: https://example.com/a', live: true })
    expect(open.root.querySelector('[data-test=link]')).toBeNull()
    await open.give({ live: false })
    expect(open.root.querySelector('[data-test=link]')?.textContent).toContain('example.com')
  })
})

describe('a picture', () => {
  it('is words, and where it would come from', () => {
    open = mounted(MarkdownText, { source: '![a chart](https://evil.example/p.png)' })
    expect(open.root.querySelector('[data-test=image]')?.textContent).toMatch(/a chart.*evil\.example/s)
  })
})

describe('a text', () => {
  it('keeps the nodes of settled blocks while it grows', async () => {
    const source = '# Title\n\nfirst\n\nsecond\n\n```js\nlet a\n```\n\nthird\n\n'
    open = mounted(MarkdownText, { source, live: true })
    const root = open.root.querySelector('[data-test=markdown]')
    const before = [...(root?.children ?? [])].slice(0, 4)
    await open.give({ source: `${source}fourth **bold` })
    await until(() => root?.textContent?.includes('fourth bold') ?? false)
    expect([...(root?.children ?? [])].slice(0, 4)).toEqual(before)
    for (const [place, node] of before.entries()) expect(root?.children[place]).toBe(node)
  })

  it('is read again only at its end while it grows', async () => {
    const source = Array.from({ length: 30 }, (_, place) => `paragraph ${place}`).join('\n\n')
    open = mounted(MarkdownText, { source, live: true })
    const { root, give } = open
    const reading = vi.spyOn(Markdown.prototype, 'render')
    await give({ source: `${source} grows` })
    await until(() => root.textContent?.includes('29 grows') ?? false)
    expect(reading).toHaveBeenCalledOnce()
  })

  it('that is long in one piece is plain until one asks for more', async () => {
    open = mounted(MarkdownText, { source: `short\n\n${'word '.repeat(5_000)}**bold**` })
    expect(open.root.querySelectorAll('strong')).toHaveLength(0)
    open.root.querySelector<HTMLElement>('[data-test=long-text] button')?.click()
    await until(() => open?.root.querySelector('strong')?.textContent === 'bold')
  })

  it('says of tasks whether they are done', () => {
    open = mounted(MarkdownText, { source: '- [ ] open\n- [x] done\n- [link](https://example.com)' })
    const marks = [...open.root.querySelectorAll('[role=img]')].map((each) => each.getAttribute('aria-label'))
    expect(marks).toEqual(['not done', 'done'])
    expect(open.root.textContent).not.toContain('[x]')
  })

  it('takes a rule below a line for a rule, and breaks lines where they break', () => {
    expect(htmlOf('a line\n---\nnext')).toContain('<hr>')
    expect(htmlOf('one\ntwo')).toContain('<br>')
  })

  it('is split the same whichever ends of lines it has', () => {
    expect(split('a\r\n\r\nb\r\n', false).blocks).toEqual(split('a\n\nb\n', false).blocks)
  })
})
