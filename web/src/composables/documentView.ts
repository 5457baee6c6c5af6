/**
 * A Word document as something to look at. A model may have steered every word of it, so that it is built in a document of its own,
 * which can neither load nor run anything, and only what is sanitised of that gets onto the page.
 */
import type { HElement } from 'docx-preview'

import { sanitisedDocument, UNSAFE_STYLE, type Sanitised } from '@/markdown/sanitised'

import { Archive, ArchiveError } from './archive'
import { documentCharts, type Plot } from './documentCharts'

export interface DocumentView {
  content: Sanitised
  /** For the shadow in which it stands; none where the browser cannot hold them apart from the page's own. */
  style: CSSStyleSheet | null
  charts: (Plot | null)[]
}

/** Marks the places that charts have in `content`. */
export const CHART_PLACE = 'z-chart-place'

/** Bullets in the places of fonts of symbols, which a browser does not have. */
const SYMBOLS = /[\uf000-\uf0ff]/g

export async function documentView(bytes: Uint8Array<ArrayBuffer>): Promise<DocumentView> {
  const archive = Archive.of(bytes)
  await checked(archive)
  const { parseAsync, renderDocument } = await import('docx-preview')
  const inert = document.implementation.createHTMLDocument('')
  const options = {
    h: (element: HElement | Node | string) => built(inert, element),
    className: 'docx',
    ignoreFonts: true,
    useBase64URL: true,
    renderAltChunks: false,
    renderComments: false,
    renderChanges: false,
    experimental: false,
    debug: false,
  }
  const nodes = await renderDocument(await parseAsync(bytes, options), options)
  const styles = nodes.filter((node) => node.nodeName === 'STYLE').map((node) => (node.textContent ?? '').replace(SYMBOLS, '•'))
  const body = inert.createElement('div')
  body.append(...nodes.filter((node) => node instanceof HTMLElement && node.nodeName !== 'STYLE'))
  markPlaces(body)
  return {
    content: sanitisedDocument(body.innerHTML),
    style: sheetOf(styles.join('\n')),
    charts: await documentCharts(archive).catch(() => []),
  }
}

/** Everything is unpacked once within bounds before anything else unpacks it. Throws `ArchiveError`. */
async function checked(archive: Archive): Promise<void> {
  for (const name of archive.names) {
    const text = /\.(?:xml|rels)$/i.test(name) ? await archive.text(name) : await archive.bytes(name).then(() => '')
    if (text?.includes('<!DOCTYPE')) throw new ArchiveError('a part of the document is not accepted')
  }
}

/** An element of the inert document. Nothing but what is plain is made; the rest becomes a `span` that is sanitised away later. */
function built(inert: Document, wanted: HElement | Node | string): Node {
  if (typeof wanted === 'string') return inert.createTextNode(wanted)
  if (wanted instanceof Node) return wanted
  const { tagName, className, style, children = [], colSpan, rowSpan } = wanted
  const made =
    tagName === '#fragment'
      ? inert.createDocumentFragment()
      : inert.createElement(/^[a-z][a-z0-9]*$/.test(tagName) ? safe(tagName) : 'span')
  if (made instanceof HTMLElement) {
    if (className) made.className = className
    if (typeof style === 'string') made.setAttribute('style', style)
    else if (style) for (const [name, value] of Object.entries(style)) setStyle(made, name, value)
    if (Number(colSpan) > 1) made.setAttribute('colspan', String(Number(colSpan)))
    if (Number(rowSpan) > 1) made.setAttribute('rowspan', String(Number(rowSpan)))
    // Asked for drawings, which are not drawn here.
    Object.assign(made, { getBBox: () => ({ x: 0, y: 0, width: 0, height: 0 }) })
  }
  for (const child of children) if (tagName !== '#comment') made.appendChild(built(inert, child))
  return made
}

const TAGS = new Set([
  ...[
    'div',
    'section',
    'article',
    'header',
    'footer',
    'p',
    'span',
    'sup',
    'sub',
    'br',
    'ol',
    'li',
    'img',
    'style',
    'ins',
    'del',
  ],
  ...['table', 'colgroup', 'col', 'tbody', 'tr', 'td', 'th'],
])

function safe(tagName: string): string {
  return TAGS.has(tagName) ? tagName : 'span'
}

function setStyle(element: HTMLElement, name: string, value: unknown): void {
  if (typeof value !== 'string' || UNSAFE_STYLE.test(value)) return
  if (name.includes('-')) element.style.setProperty(name, value)
  else (element.style as unknown as Record<string, string>)[name] = value
  standIn(element.style)
}

/** Where its fonts are missing, the text is set without serifs, as Word would, and not in the browser's own font. */
function standIn(style: CSSStyleDeclaration): void {
  const { fontFamily } = style
  if (fontFamily && !fontFamily.endsWith('serif')) style.fontFamily = `${fontFamily}, sans-serif`
}

/** A drawing without anything in it is a chart: it cannot be shown by what shows the text. */
function markPlaces(body: HTMLElement): void {
  for (const place of body.querySelectorAll<HTMLElement>('article div'))
    if (place.style.display === 'inline-block' && place.style.textIndent && !place.childNodes.length)
      place.className = CHART_PLACE
}

/** What is around the pages belongs to the page, not to the document. */
const AROUND = '.docx-wrapper { background: none; padding: 12px 0; }'

/** Values that ask for something, once a browser has read and written them: no escapes are left in them. */
const ASKING = /url\(|image|src\(|element\(/i

/** The styles of the document without any that could ask for something or leave their place. */
function sheetOf(text: string): CSSStyleSheet | null {
  if (!('adoptedStyleSheets' in document)) return null
  const given = new CSSStyleSheet()
  given.replaceSync(text)
  const rules = [...given.cssRules].filter((rule) => rule instanceof CSSStyleRule && !rule.cssRules?.length) as CSSStyleRule[]
  for (const { style } of rules) {
    for (const name of [...style]) {
      const value = style.getPropertyValue(name)
      // What a variable holds is not read before it is used.
      const asks = name.startsWith('--') ? UNSAFE_STYLE.test(value) : ASKING.test(value)
      if (asks || (name === 'position' && !/^(?:static|relative|absolute)$/.test(value))) style.removeProperty(name)
    }
    standIn(style)
  }
  const sheet = new CSSStyleSheet()
  sheet.replaceSync([...rules.map((rule) => rule.cssText), AROUND].join('\n'))
  return sheet
}
