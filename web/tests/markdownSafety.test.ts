import { afterEach, describe, expect, it, vi } from 'vitest'

import MarkdownText from '@/components/markdown/MarkdownText.vue'
import { NOTHING, split } from '@/markdown/blocks'
import { formula } from '@/markdown/formulas'
import { highlighted } from '@/markdown/highlighting'
import { htmlOf } from '@/markdown/parser'
import { sanitisedCode, sanitisedFormula, sanitisedMarkdown } from '@/markdown/sanitised'

import { mounted, until, type Mounted } from './mounted'

const EVIL = 'https://evil.example/x'
const ATTACKS = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  `<img src="${EVIL}">`,
  '<svg onload=alert(1)><script>alert(1)</script></svg>',
  `<svg><image href="${EVIL}"/><use href="data:image/svg+xml,<svg id=x>#x"/></svg>`,
  `<iframe src="javascript:alert(1)" srcdoc="<script>alert(1)</script>"></iframe>`,
  `<link rel=stylesheet href="${EVIL}">`,
  `<style>@import "${EVIL}"; * { background: url(${EVIL}) }</style>`,
  `<div style="background:url(${EVIL})">x</div>`,
  `<table background="${EVIL}"><tr><td background="${EVIL}">x</table>`,
  `<form action="${EVIL}"><input name=x><button formaction="${EVIL}">go</button></form>`,
  '<a href="javascript:alert(1)">x</a>',
  `<a ping="${EVIL}" href="${EVIL}">x</a>`,
  `<video poster="${EVIL}"><source src="${EVIL}"></video>`,
  `<object data="${EVIL}"></object><embed src="${EVIL}">`,
  `<meta http-equiv=refresh content="0;url=${EVIL}"><base href="${EVIL}">`,
  '<p id=app name=body>x</p><input id=token>',
  '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<!--><img src=x onerror=alert(1)>-->',
  '<template><img src=x onerror=alert(1)></template>',
  `![x](${EVIL})`,
  `![x](${EVIL} "title\\" onerror=\\"alert(1)")`,
  `![<img src=x onerror=alert(1)>](${EVIL})`,
  '![x](data:image/svg+xml,<svg onload=alert(1)>)',
  '![x](javascript:alert(1))',
  `[![x](${EVIL})](${EVIL})`,
  `![x][ref]\n\n[ref]: ${EVIL} "t"`,
  `[x][ref]\n\n[ref]: javascript:alert(1)`,
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](java\tscript:alert(1))',
  '[x](\u0001javascript:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](javascript&colon;alert(1))',
  '[x](vbscript:msgbox(1))',
  '[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)',
  '[x](file:///etc/passwd)',
  '[x](blob:https://evil.example/1)',
  '[x](//evil.example/x)',
  '[x](\\\\evil.example\\x)',
  '[x](https:evil.example)',
  `[x](${EVIL}" onclick="alert(1))`,
  `[x](<${EVIL}" onmouseover="alert(1)>)`,
  `[x](${EVIL} '"><img src=x onerror=alert(1)>')`,
  '[<script>alert(1)</script>](https://example.com)',
  `<${EVIL}"onclick=alert(1)>`,
  '<javascript:alert(1)>',
  '<data:text/html,x>',
  EVIL,
  'www.evil.example and evil@evil.example',
  '```"><img src=x onerror=alert(1)>\ncode\n```',
  '```js" onload="alert(1)\nlet x\n```',
  '```__proto__\nx\n```\n\n```constructor\nx\n```',
  '```html\n<img src=x onerror=alert(1)>\n```',
  '~~~<script>\nx\n~~~',
  '`<img src=x onerror=alert(1)>`',
  '    <img src=x onerror=alert(1)>',
  '| <img src=x onerror=alert(1)> | b |\n|---|---|\n| <svg onload=alert(1)> | ![x](https://evil.example/x) |',
  '> # <img src=x onerror=alert(1)>\n> - <iframe src=x>',
  '- [ ] <input type=checkbox autofocus onfocus=alert(1)>',
  '&lt;img src=x onerror=alert(1)&gt; &#60;script&#62;alert(1)&#60;/script&#62;',
  '<span class="z-link" data-address="javascript:alert(1)">x</span>',
  '<pre class="z-code" data-language="js">x</pre>',
  '$\\href{javascript:alert(1)}{x}$ and $\\url{javascript:alert(1)}$',
  `$\\includegraphics{${EVIL}}$ \\(\\includegraphics[height=1em]{${EVIL}}\\)`,
  '$\\htmlId{app}{x} \\htmlClass{z-link}{x} \\htmlStyle{background:url(https://evil.example)}{x} \\htmlData{a=b}{x}$',
  '$$\\color{red;background:url(https://evil.example)} x$$',
  '$$\\def\\a{\\a\\a}\\a$$',
  '$$\\text{<img src=x onerror=alert(1)>}$$',
  '\\[\\unicode{x3c}img src=x onerror=alert(1)\\]',
  '$`<img src=x onerror=alert(1)>`$',
  '**<img src=x onerror=alert(1)>** *<svg/onload=alert(1)>* ~~<object>~~',
  '[a](https://e.com "<img src=x onerror=alert(1)>")',
  '{{ constructor.constructor("alert(1)")() }} <component is="script">',
]

const FORBIDDEN =
  'script, img, image, picture, svg, style, iframe, frame, object, embed, video, audio, source, track, form, input, textarea, select, ' +
  'link, meta, base, template, slot, a, area, map, canvas, dialog, details, marquee, math, applet, portal'
const TAGS = new Set('p h3 h4 h5 h6 ul ol li blockquote pre code em strong s br hr span table thead tbody tr th td'.split(' '))
const ATTRIBUTES = new Set(['class', 'start', 'type', 'title', 'tabindex', 'role', 'data-test', 'scope'])

function forbidden(root: ParentNode): string[] {
  // What KaTeX draws is looked at apart, below.
  const all = [...root.querySelectorAll('*')].filter((each) => !each.closest('.katex'))
  const names = (each: Element) =>
    each.getAttributeNames().filter((name) => !ATTRIBUTES.has(name) && !/^aria-|^data-v-/.test(name))
  return all.flatMap((each) => [...(each.matches(FORBIDDEN) ? [each.outerHTML] : []), ...names(each)])
}

/** Tags and attributes in HTML that the parser has no reason to write. */
function unexpected(html: string): string[] {
  const tags = [...html.matchAll(/<\/?([a-z0-9]*)((?:\s+[a-z-]+="[^"]*")*)([^>]*)>/gi)]
  return tags.flatMap(([, tag = '', attributes = '', rest]) => {
    const names = [...attributes.matchAll(/([a-z-]+)="/g)].map(([, name = '']) => name)
    const odd = names.filter(
      (name) => !['class', 'start', 'data-address', 'data-language', 'data-display', 'data-done'].includes(name),
    )
    return [...(TAGS.has(tag) ? [] : [tag]), ...odd, ...(rest ? [rest] : [])]
  })
}

let open: Mounted | undefined
afterEach(() => {
  open?.close()
  open = undefined
})

describe('a text of somebody else', () => {
  it.each(ATTACKS)('brings nothing along that loads, runs or leads away: %s', async (attack) => {
    const asked = vi.spyOn(window, 'open')
    const fetching = vi.spyOn(globalThis, 'fetch')
    for (const live of [false, true]) {
      open = mounted(MarkdownText, { source: attack, live })
      await new Promise((resolve) => setTimeout(resolve))
      expect(forbidden(open.root)).toEqual([])
      open.close()
    }
    expect(asked).not.toHaveBeenCalled()
    expect(fetching).not.toHaveBeenCalled()
  })

  it('stays harmless at each moment of being written', () => {
    for (const attack of ATTACKS) {
      let state = NOTHING
      for (let length = 1; length <= attack.length; length += 1) {
        state = split(attack.slice(0, length), true, state)
        // Already before it is sanitised.
        for (const block of state.blocks) expect(unexpected(htmlOf(block)), attack.slice(0, length)).toEqual([])
      }
    }
  })

  it('is shown as it was written where it is no Markdown', () => {
    open = mounted(MarkdownText, { source: '<img src=x onerror=alert(1)> & <b>bold</b>' })
    expect(open.root.textContent).toContain('<img src=x onerror=alert(1)> & <b>bold</b>')
  })

  it('cannot mark something up as a link or as code by names of classes', () => {
    const html = '<p class="z-link evil" id="app" data-address="https://evil.example">x</p><pre class="card">y</pre>'
    const fragment = sanitisedMarkdown(html)
    expect(fragment.querySelector('[class], [id]')).toBeNull()
  })
})

describe('a formula', () => {
  it.each(ATTACKS.filter((attack) => /\$|\\\[|\\\(/.test(attack)))('cannot load, run or lead anywhere: %s', async (attack) => {
    const tex = attack.replace(/^\$+|\$+$|^\\[[(]|\\[\])]$/g, '')
    const drawn = await formula(tex, true)
    for (const each of drawn?.querySelectorAll('*') ?? []) {
      expect(
        each.matches('a, img, image, script, style, foreignObject, use, iframe, [href], [src], [onerror], [id], [name]'),
      ).toBe(false)
      expect(each.getAttribute('style') ?? '').not.toMatch(/url|javascript/)
    }
  })

  it('is drawn where it is one, roots included', async () => {
    const drawn = await formula('\\sqrt{x^2} + \\frac{1}{2}', false)
    expect(drawn?.querySelector('.katex-html')).not.toBeNull()
    expect(drawn?.querySelector('svg path')).not.toBeNull()
  })

  it('that would never end, or is none, is left as it was written', async () => {
    expect(await formula('\\def\\a{\\a\\a}\\a', true)).toBeNull()
    expect(await formula('\\frac{1', true)).toBeNull()
    expect(await formula('x'.repeat(6_000), true)).toBeNull()
  })

  it('keeps nothing of elements that do not belong into one', () => {
    const html =
      '<span style="background:url(https://evil.example)"><a href="https://evil.example">x</a><img src="x"><svg><use href="#a"/></svg></span>'
    const fragment = sanitisedFormula(html)
    expect(fragment.querySelector('a, img, use, [style], [href]')).toBeNull()
  })
})

describe('code', () => {
  it('is coloured without becoming more than coloured text', async () => {
    const drawn = await highlighted('<img src=x onerror=alert(1)> <!-- " -->', 'html')
    expect(drawn?.textContent).toBe('<img src=x onerror=alert(1)> <!-- " -->')
    expect([...(drawn?.querySelectorAll('*') ?? [])].every((each) => each.tagName === 'SPAN')).toBe(true)
  })

  it('has no colours in languages that only sound like one', async () => {
    for (const name of ['__proto__', 'constructor', '"><img src=x onerror=alert(1)>', 'toString', '']) {
      expect(await highlighted('x', name)).toBeNull()
    }
  })

  it('keeps nothing but spans of what highlighting gives', () => {
    const fragment = sanitisedCode('<span class="hljs-title" onclick="alert(1)" style="x:y">a</span><img src=x>')
    expect(fragment.firstElementChild?.getAttributeNames()).toEqual(['class'])
    expect(fragment.querySelector('img')).toBeNull()
  })

  it('is drawn with its colours once they are there', async () => {
    open = mounted(MarkdownText, { source: '```python\nimport os\n```' })
    const { root } = open
    await until(() => root.querySelector('.hljs-keyword') !== null)
    expect(root.querySelector('code')?.textContent).toBe('import os')
  })
})
