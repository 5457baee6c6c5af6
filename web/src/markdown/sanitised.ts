/**
 * The last word on HTML that was made from what models, tools and files say: only the elements and attributes named here get
 * through, and none of them can load, navigate, run or be mistaken for a part of the page.
 */
import createPurifier, { type Config, type DOMPurify } from 'dompurify'

declare const brand: unique symbol
/** A piece of a document that was sanitised here. */
export type Sanitised = DocumentFragment & { readonly [brand]: true }

const MARKDOWN: Config = {
  ALLOWED_TAGS: [
    ...['p', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code', 'em', 'strong', 's', 'br', 'hr', 'span'],
    ...['table', 'thead', 'tbody', 'tr', 'th', 'td', '#text'],
  ],
  ALLOWED_ATTR: ['class', 'start', 'data-address', 'data-language', 'data-display', 'data-done'],
}
const HIGHLIGHTED: Config = { ALLOWED_TAGS: ['span', '#text'], ALLOWED_ATTR: ['class'] }
const FORMULA: Config = {
  ALLOWED_TAGS: [
    ...[
      'span',
      'math',
      'semantics',
      'annotation',
      'mrow',
      'mi',
      'mo',
      'mn',
      'ms',
      'mtext',
      'mspace',
      'msup',
      'msub',
      'msubsup',
    ],
    ...['mfrac', 'msqrt', 'mroot', 'mover', 'munder', 'munderover', 'mtable', 'mtr', 'mtd', 'mpadded', 'mphantom', 'menclose'],
    // Roots and long arrows are drawn; these can only draw.
    ...['mstyle', 'svg', 'path', 'line', '#text'],
  ],
  ALLOWED_ATTR: [
    ...['class', 'style', 'aria-hidden', 'width', 'height', 'viewBox', 'preserveAspectRatio', 'd', 'x1', 'x2', 'y1', 'y2'],
    ...[
      'stroke-width',
      'encoding',
      'mathvariant',
      'stretchy',
      'fence',
      'separator',
      'lspace',
      'rspace',
      'accent',
      'accentunder',
    ],
    ...['displaystyle', 'scriptlevel', 'columnalign', 'columnspacing', 'rowspacing', 'columnlines', 'rowlines', 'notation'],
    ...[
      'linethickness',
      'minsize',
      'maxsize',
      'mathcolor',
      'mathbackground',
      'mathsize',
      'voffset',
      'display',
      'largeop',
      'movablelimits',
    ],
  ],
}
const DOCUMENT: Config = {
  ALLOWED_TAGS: [
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
      'ins',
      'del',
      '#text',
    ],
    ...['table', 'colgroup', 'col', 'tbody', 'tr', 'td', 'th'],
  ],
  ALLOWED_ATTR: ['class', 'style', 'colspan', 'rowspan', 'src', 'alt'],
}
/** The only pictures: those that a document brings along. */
const PICTURE = /^data:image\/(?:png|jpeg|gif|bmp|webp);base64,[A-Za-z0-9+/=]+$/
const ALWAYS: Config = {
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOW_UNKNOWN_PROTOCOLS: false,
  RETURN_DOM_FRAGMENT: true,
}

/** Values of a style that could ask for something, or leave the place they are drawn at. */
export const UNSAFE_STYLE =
  /url\s*\(|image|src\s*\(|expression|element\s*\(|@|\\|javascript|behaviou?r|binding|position\s*:\s*(?:fixed|sticky)/i

const purifiers = new Map<Config, DOMPurify>()

/** One for each configuration: hooks belong to the purifier. */
function purifierOf(config: Config): DOMPurify {
  const known = purifiers.get(config)
  if (known) return known
  const purifier = createPurifier(window)
  purifier.addHook('uponSanitizeAttribute', (_, attribute) => {
    const { attrName, attrValue } = attribute
    if (attrName === 'style' && UNSAFE_STYLE.test(attrValue)) attribute.keepAttr = false
    if (attrName === 'src' && !PICTURE.test(attrValue)) attribute.keepAttr = false
    if (attrName === 'class' && config === MARKDOWN && !/^z-[a-z]+$/.test(attrValue)) attribute.keepAttr = false
  })
  purifiers.set(config, purifier)
  return purifier
}

function sanitised(html: string, config: Config): Sanitised {
  return purifierOf(config).sanitize(html, { ...config, ...ALWAYS, RETURN_DOM_FRAGMENT: true }) as unknown as Sanitised
}

/** What `parser.ts` made of a text. */
export const sanitisedMarkdown = (html: string) => sanitised(html, MARKDOWN)
/** Coloured code. */
export const sanitisedCode = (html: string) => sanitised(html, HIGHLIGHTED)
export const sanitisedFormula = (html: string) => sanitised(html, FORMULA)
/** The look of a Word document: its own pictures, and neither links nor anything from elsewhere. */
export const sanitisedDocument = (html: string) => sanitised(html, DOCUMENT)
