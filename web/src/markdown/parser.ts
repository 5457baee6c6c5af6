/**
 * Markdown to HTML that holds nothing but text in plain elements: what is more than text (links, pictures, code, formulas, tasks)
 * is only marked by a class, for `drawn.ts` to draw. Raw HTML of the source stays text.
 */
import Markdown, { type Env, type RendererRule, type StateCore, type Token } from 'markdown-it'

import { addressOf, visible } from './addresses'
import { mathRules } from './mathRules'

/** Headings of a text stand below those of the page. */
const BELOW = 2
const LOWEST = 6

const markdown = new Markdown({ html: false, linkify: true, typographer: false, breaks: true, maxNesting: 40 })
// A line under another is a rule and makes no heading of what was read before; addresses without a scheme stay text.
markdown.disable(['lheading'])
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
markdown.validateLink = (address) => addressOf(address) !== null || isLocal(address)
markdown.normalizeLink = (address) => address
markdown.normalizeLinkText = (text) => text
markdown.use(mathRules)
markdown.core.ruler.push('tasks', tasks)
markdown.core.ruler.push('bare', bareAddresses)

const { escapeHtml } = markdown.utils

/** An address without a scheme: shown as text, never opened. */
function isLocal(address: string): boolean {
  return !/^[^/?#]*:/.test(address.trim())
}

/** `[ ]` and `[x]` at the beginning of a list's item. */
function tasks(state: StateCore): void {
  for (const [place, token] of state.tokens.entries()) {
    const first = token.children?.[0]
    const item = state.tokens[place - 2]
    const found = first?.type === 'text' && item?.type === 'list_item_open' ? /^\[([ xX])\]\s+/.exec(first.content) : null
    if (!found || !first || !item) continue
    const task = new state.Token('task', '', 0)
    task.meta = { done: found[1] !== ' ' }
    first.content = first.content.slice(found[0].length)
    token.children?.unshift(task)
    item.attrJoin('class', 'z-item')
  }
}

/** An address that is its own text reads as it will be asked for, when its letters pretend to be others. */
function bareAddresses(state: StateCore): void {
  for (const { children } of state.tokens) {
    for (const [place, token] of children?.entries() ?? []) {
      const text = children?.[place + 1]
      if (token.type !== 'link_open' || token.info !== 'auto' || text?.type !== 'text') continue
      const address = addressOf(String(token.attrGet('href')))
      text.content = address?.doubts.length ? address.href : visible(text.content)
    }
  }
}

function heading(tokens: Token[], place: number): string {
  const token = tokens[place]
  const level = Math.min(Number(token?.tag.slice(1)) + BELOW, LOWEST)
  return token?.nesting === 1 ? `<h${level}>` : `</h${level}>\n`
}

/** Cells say by a class how they are aligned: no element has a style of its own. */
const cell: RendererRule = (tokens, place) => {
  const token = tokens[place]
  const side = /(center|right)$/.exec(String(token?.attrGet('style') ?? ''))?.[1]
  return `<${token?.tag}${side ? ` class="z-${side}"` : ''}>`
}

const code: RendererRule = (tokens, place) => {
  const { content = '', info = '' } = tokens[place] ?? {}
  const language = markdown.utils.unescapeAll(info).trim().split(/\s+/)[0] ?? ''
  return `<pre class="z-code" data-language="${escapeHtml(language)}">${escapeHtml(content.replace(/\n$/, ''))}</pre>\n`
}

const math: RendererRule = (tokens, place) => {
  const token = tokens[place]
  const display = token?.meta?.['display'] ? 'yes' : 'no'
  return `<span class="z-math" data-display="${display}">${escapeHtml(token?.content ?? '')}</span>`
}

Object.assign(markdown.renderer.rules, {
  heading_open: heading,
  heading_close: heading,
  th_open: cell,
  td_open: cell,
  fence: code,
  code_block: code,
  math,
  link_open: (tokens, place) =>
    `<span class="z-link" data-address="${escapeHtml(String(tokens[place]?.attrGet('href') ?? ''))}">`,
  link_close: () => '</span>',
  image: (tokens, place, options, env, renderer) => {
    const { attrGet, children } = tokens[place] ?? {}
    const address = String(attrGet?.call(tokens[place], 'src') ?? '')
    const words = renderer.renderInlineAsText(children ?? [], options, env)
    return `<span class="z-image" data-address="${escapeHtml(address)}">${escapeHtml(words)}</span>`
  },
  task: (tokens, place) => `<span class="z-task" data-done="${tokens[place]?.meta?.['done'] ? 'yes' : 'no'}"></span>`,
} satisfies Record<string, RendererRule>)

export type References = NonNullable<Env['references']>

/** HTML of a text. `references` are the addresses that other parts of the whole text name. */
export function htmlOf(text: string, references: References = {}): string {
  return markdown.render(text, { references: { ...references } })
}

/** Where the top-level blocks of a text begin and end, as numbers of lines. */
export function blockLines(text: string): [number, number][] {
  const tokens: Token[] = []
  markdown.block.parse(text, markdown, {}, tokens)
  return tokens.flatMap((token) => (token.level === 0 && token.map && token.nesting >= 0 ? [token.map] : []))
}

/** The addresses that a text names for links elsewhere in it: `[name]: https://...`; `null` when there are none. */
export function referencesOf(text: string): References | null {
  if (!/^ {0,3}\[[^\]\n]+\]:/m.test(text)) return null
  const env: Env = {}
  markdown.block.parse(text, markdown, env, [])
  return env.references ?? null
}
