import { afterEach, describe, expect, it, vi } from 'vitest'

import FileCard from '@/components/files/FileCard.vue'
import TextPreview from '@/components/files/TextPreview.vue'
import { Archive, ArchiveError } from '@/composables/archive'
import { decoded } from '@/composables/decoded'
import { rowsOf } from '@/composables/delimited'
import { documentCharts } from '@/composables/documentCharts'
import { documentView } from '@/composables/documentView'

import { mounted, until, type Mounted } from './mounted'
import { zip } from './zip'

const W = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main'
const R = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const C = 'http://schemas.openxmlformats.org/drawingml/2006/chart'
const A = 'http://schemas.openxmlformats.org/drawingml/2006/main'
const WP = 'http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing'
const PIC = 'http://schemas.openxmlformats.org/drawingml/2006/picture'
const EVIL = 'https://evil.example/x'

const points = (values: (string | null)[]) =>
  `<c:ptCount val="${values.length}"/>${values.map((value, place) => (value === null ? '' : `<c:pt idx="${place}"><c:v>${value}</c:v></c:pt>`)).join('')}`
const series = (name: string, values: (string | null)[]) =>
  `<c:ser><c:tx><c:strRef><c:strCache>${points([name])}</c:strCache></c:strRef></c:tx>` +
  `<c:cat><c:strRef><c:strCache>${points(['1月', '2月', '3月'])}</c:strCache></c:strRef></c:cat>` +
  `<c:val><c:numRef><c:numCache><c:formatCode>"¥"#,##0.00</c:formatCode>${points(values)}</c:numCache></c:numRef></c:val></c:ser>`
const CHART =
  `<c:chartSpace xmlns:c="${C}" xmlns:a="${A}"><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:rich></c:tx></c:title>` +
  `<c:plotArea><c:lineChart>${series('online', ['1200.5', null, '-3'])}${series('shop', ['1', '2', '3'])}</c:lineChart></c:plotArea></c:chart></c:chartSpace>`
const DRAWING = `<w:p><w:r><w:drawing><wp:inline><wp:extent cx="6084000" cy="2736000"/><a:graphic><a:graphicData uri="${C}"><c:chart r:id="rId1"/></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`

function docx(
  body: string,
  more: { relations?: string; parts?: Record<string, string | Uint8Array> } = {},
): Uint8Array<ArrayBuffer> {
  return zip({
    '[Content_Types].xml':
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/><Default Extension="svg" ContentType="image/svg+xml"/></Types>',
    '_rels/.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="${R}/officeDocument" Target="word/document.xml"/></Relationships>`,
    'word/document.xml': `<w:document xmlns:w="${W}" xmlns:r="${R}" xmlns:c="${C}" xmlns:a="${A}" xmlns:wp="${WP}" xmlns:pic="${PIC}"><w:body>${body}</w:body></w:document>`,
    'word/_rels/document.xml.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="${R}/chart" Target="charts/chart1.xml"/>${more.relations ?? ''}</Relationships>`,
    'word/charts/chart1.xml': CHART,
    ...more.parts,
  })
}

const relation = (id: string, type: string, target: string, external = false) =>
  `<Relationship Id="${id}" Type="${R}/${type}" Target="${target}"${external ? ' TargetMode="External"' : ''}/>`

let open: Mounted | undefined
afterEach(() => {
  open?.close()
  open = undefined
  vi.restoreAllMocks()
})

describe('an archive', () => {
  it('gives back what was packed', async () => {
    const archive = Archive.of(zip({ 'a.txt': 'hello', 'b/c.xml': '<x/>'.repeat(1_000) }))
    expect(archive.names).toEqual(['a.txt', 'b/c.xml'])
    expect(await archive.text('a.txt')).toBe('hello')
    expect((await archive.text('b/c.xml'))?.length).toBe(4_000)
    expect(await archive.text('gone')).toBeNull()
  })

  it('that unpacks to more than it says is refused', async () => {
    const archive = Archive.of(zip({ bomb: 'x'.repeat(1_000_000) }, { bomb: 10 }))
    await expect(archive.bytes('bomb')).rejects.toThrow(ArchiveError)
  })

  it('that says it is huge is refused before anything is unpacked', () => {
    expect(() => Archive.of(zip({ a: 'x', b: 'y' }, { a: 60_000_000, b: 60_000_000 }))).toThrow(ArchiveError)
  })

  it('that is none, or cut off, is refused', () => {
    expect(() => Archive.of(new Uint8Array(5))).toThrow(ArchiveError)
    expect(() => Archive.of(new Uint8Array(zip({ a: 'hello' }).slice(20)))).toThrow(ArchiveError)
  })
})

describe('the charts of a document', () => {
  it('are those that stand in it, gaps, order and unit included', async () => {
    const [plot] = await documentCharts(Archive.of(docx(DRAWING)))
    expect(plot).toEqual({
      kind: 'line',
      title: 'Sales',
      categories: ['1月', '2月', '3月'],
      series: [
        { name: 'online', values: [1200.5, null, -3] },
        { name: 'shop', values: [1, 2, 3] },
      ],
      prefix: '¥',
      suffix: '',
      places: 2,
    })
  })

  it('are not looked for elsewhere', async () => {
    const parts = { 'word/_rels/document.xml.rels': `<Relationships>${relation('rId1', 'chart', EVIL, true)}</Relationships>` }
    expect(await documentCharts(Archive.of(docx(DRAWING, { parts })))).toEqual([null])
  })

  it('are refused when a part declares what it is', async () => {
    const parts = { 'word/charts/chart1.xml': '<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>' }
    await expect(documentCharts(Archive.of(docx(DRAWING, { parts })))).rejects.toThrow()
  })
})

describe('the look of a document', () => {
  const text = (words: string, properties = '') => `<w:p><w:r>${properties}<w:t>${words}</w:t></w:r></w:p>`
  const inside = (fragment: DocumentFragment) => [...fragment.querySelectorAll('*')]

  it('has its words and its tables, and a place for each chart', async () => {
    const view = await documentView(docx(`${text('Hello')}<w:tbl><w:tr><w:tc>${text('cell')}</w:tc></w:tr></w:tbl>${DRAWING}`))
    expect(view.content.textContent).toContain('Hello')
    expect(view.content.querySelector('td')?.textContent).toContain('cell')
    expect(view.content.querySelectorAll('.z-chart-place')).toHaveLength(1)
    expect(view.charts).toHaveLength(1)
  })

  it('has no links, frames, foreign pictures or scripts, and asks nobody for anything', async () => {
    const fetching = vi.spyOn(globalThis, 'fetch')
    const picture = (id: string, how: string) =>
      `<w:p><w:r><w:drawing><wp:inline><wp:extent cx="9" cy="9"/><a:graphic><a:graphicData><pic:pic><pic:blipFill><a:blip r:${how}="${id}"/></pic:blipFill><pic:spPr/></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`
    const body =
      `<w:p><w:hyperlink r:id="evil">${'<w:r><w:t>link</w:t></w:r>'}</w:hyperlink></w:p><w:altChunk r:id="chunk"/>` +
      `<w:p><w:bookmarkStart w:id="1" w:name="app"/></w:p>${text('&lt;img src=x onerror=alert(1)&gt;')}` +
      `${picture('far', 'embed')}${picture('far', 'link')}${picture('drawn', 'embed')}` +
      `<w:p><w:r><w:pict><v:shape xmlns:v="urn:schemas-microsoft-com:vml" style="background:url(${EVIL})"><v:imagedata r:id="far"/></v:shape></w:pict></w:r></w:p>` +
      text(
        'font',
        `<w:rPr><w:rFonts w:ascii="x;background:url(${EVIL})"/><w:color w:val="red;background:url(${EVIL})"/></w:rPr>`,
      )
    const relations =
      relation('evil', 'hyperlink', 'javascript:alert(1)', true) +
      relation('far', 'image', EVIL, true) +
      relation('drawn', 'image', 'media/a.svg') +
      relation('chunk', 'aFChunk', 'chunk.html')
    const parts = { 'word/media/a.svg': `<svg onload="alert(1)"/>`, 'word/chunk.html': '<script>alert(1)</script>' }
    const { content } = await documentView(docx(body, { relations, parts }))
    expect(content.textContent).toContain('link')
    expect(content.querySelector('a, iframe, script, svg, style, link, object, form')).toBeNull()
    for (const each of inside(content)) {
      expect(
        each.getAttributeNames().filter((name) => !['class', 'style', 'colspan', 'rowspan', 'src'].includes(name)),
      ).toEqual([])
      expect(each.getAttribute('src') ?? '').not.toMatch(/evil|svg|http/)
      expect(each.getAttribute('style') ?? '').not.toMatch(/url|evil/)
    }
    expect(fetching).not.toHaveBeenCalled()
  })

  it('shows the pictures that it brings along', async () => {
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    const body = `<w:p><w:r><w:drawing><wp:inline><wp:extent cx="9" cy="9"/><a:graphic><a:graphicData><pic:pic><pic:blipFill><a:blip r:embed="own"/></pic:blipFill><pic:spPr/></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`
    const { content } = await documentView(
      docx(body, { relations: relation('own', 'image', 'media/a.png'), parts: { 'word/media/a.png': png } }),
    )
    expect(content.querySelector('img')?.getAttribute('src')).toMatch(/^data:image\/png;base64,/)
  })

  it('is refused when a part declares what it is', async () => {
    await expect(documentView(docx('', { parts: { 'word/styles.xml': '<!DOCTYPE x><x/>' } }))).rejects.toThrow(ArchiveError)
  })
})

describe('a table of text', () => {
  it('is read with quotes, ends of lines within them, and whichever separator it has', () => {
    expect(rowsOf('a;b\r\n"x;1";"say ""hi""\nthere"\r\n', 10).rows).toEqual([
      ['a', 'b'],
      ['x;1', 'say "hi"\nthere'],
    ])
    expect(rowsOf('a\tb\n1\t2', 10).rows).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ])
  })

  it('is read no further than wanted', () => {
    const { rows, more } = rowsOf('a,b\n'.repeat(500), 200)
    expect(rows).toHaveLength(200)
    expect(more).toBe(true)
    expect(rowsOf('a,b\n'.repeat(200), 200).more).toBe(false)
  })
})

describe('the bytes of a text', () => {
  it('are read as what they are', () => {
    expect(decoded(new TextEncoder().encode('销售'), true)).toEqual({ text: '销售', encoding: 'UTF-8' })
    expect(decoded(new TextEncoder().encode('销售').slice(0, 5), false).encoding).toBe('UTF-8')
    expect(decoded(new Uint8Array([0xcf, 0xfa, 0xca, 0xdb]), true)).toEqual({ text: '销售', encoding: 'GBK' })
    expect(decoded(new Uint8Array([0xff, 0xfe, 0x00, 0x95]), true)).toEqual({ text: '销', encoding: 'UTF-16' })
  })
})

describe('the card of a file', () => {
  const file = (path: string, size = 1_234_567) => ({
    type: 'file' as const,
    path,
    size,
    media_type: 'application/octet-stream',
  })

  it('names it, its kind and its size, and leads to nothing but the file', () => {
    open = mounted(FileCard, { file: file('out/a "b"/报告#1.xlsx'), sessionId: 's1' })
    const link = open.root.querySelector<HTMLAnchorElement>('[data-test=download]')
    expect(open.root.textContent).toMatch(/报告#1\.xlsx.*Excel workbook · 1\.2 MB/s)
    expect(link?.getAttribute('href')).toBe('/api/v1/sessions/s1/files/out/a%20%22b%22/%E6%8A%A5%E5%91%8A%231.xlsx')
    expect(link?.download).toBe('报告#1.xlsx')
    expect(open.root.querySelector('[data-test=preview]')).toBeNull()
  })

  it('shows a name for what it is', () => {
    open = mounted(FileCard, { file: file('invoice\u202excod.exe'), sessionId: 's1' })
    expect(open.root.querySelector('[data-test=file-name]')?.textContent).toBe('invoice\\u{202e}xcod.exe')
  })

  it.each(['a.png', 'a.JPG', 'a.jpeg', 'a.gif', 'a.webp'])('shows a small picture at once, whoever brought it: %s', (path) => {
    open = mounted(FileCard, { file: file(path, 1000), sessionId: 's1' })
    expect(open.root.querySelector('[data-test=picture]')?.getAttribute('src')).toBe(`/api/v1/sessions/s1/files/${path}`)
    expect(open.root.querySelector('[data-test=preview]')).not.toBeNull()
  })

  it('shows no picture unasked that is large or could hold a script, nor where there is to be a line only', () => {
    for (const given of [{ file: file('a.png') }, { file: file('a.svg', 10) }, { file: file('a.png', 10), plain: true }]) {
      open = mounted(FileCard, { ...given, sessionId: 's1' })
      expect(open.root.querySelector('[data-test=picture]')).toBeNull()
      open.close()
    }
  })

  it('shows the beginning of a table on demand, in its own encoding', async () => {
    const bytes = new Uint8Array([
      ...new TextEncoder().encode('a,b\n'),
      0xcf,
      0xfa,
      0xca,
      0xdb,
      ...new TextEncoder().encode(',1\n'),
    ])
    vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response(bytes))
    open = mounted(TextPreview, { sessionId: 's1', path: 'x.csv', kind: 'table' })
    const { root } = open
    await until(() => root.querySelector('table') !== null)
    expect([...root.querySelectorAll('td')].map((each) => each.textContent?.trim())).toEqual(['销售', '1'])
    expect(root.textContent).toContain('Read as GBK.')
  })

  it('says what went wrong where it could not be shown', async () => {
    const problem = { code: 'file_not_found', params: { path: 'x.txt' }, detail: 'gone' }
    vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response(JSON.stringify(problem), { status: 404 }))
    open = mounted(TextPreview, { sessionId: 's1', path: 'x.txt', kind: 'text' })
    const { root } = open
    await until(() => root.querySelector('[role=alert]') !== null)
    expect(root.textContent).toContain('There is no file x.txt.')
  })
})
