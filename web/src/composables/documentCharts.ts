/**
 * The charts of a Word document, read from the document itself: numbers, order and units are those that a reader of the file sees,
 * whatever the words were that it was made from (ECMA-376 part 1, section 21.2).
 */
import type { Archive } from './archive'

export interface Series {
  name: string
  /** One for each category, `null` where there is none. */
  values: (number | null)[]
}

export interface Plot {
  kind: 'line' | 'bar' | 'pie'
  title: string
  categories: string[]
  series: Series[]
  /** The sign before and behind a number, and its decimals at most. */
  prefix: string
  suffix: string
  places: number
}

const CHART = 'http://schemas.openxmlformats.org/drawingml/2006/chart'
const DRAWING = 'http://schemas.openxmlformats.org/drawingml/2006/main'
const RELATION = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const KINDS = { lineChart: 'line', barChart: 'bar', pieChart: 'pie' } as const
const MOST_CHARTS = 40
const MOST_CATEGORIES = 50_000

/** The charts in the order of the text; one that cannot be read is `null`. */
export async function documentCharts(archive: Archive): Promise<(Plot | null)[]> {
  const text = await archive.text('word/document.xml')
  const relations = await archive.text('word/_rels/document.xml.rels')
  if (!text?.includes(CHART) || !relations) return []
  const targets = new Map(
    [...xml(relations).getElementsByTagName('Relationship')]
      .filter((each) => each.getAttribute('TargetMode') !== 'External')
      .map((each) => [each.getAttribute('Id') ?? '', pathOf(each.getAttribute('Target') ?? '')]),
  )
  const places = [...xml(text).getElementsByTagNameNS(CHART, 'chart')].slice(0, MOST_CHARTS)
  return Promise.all(
    places.map(async (place) => {
      const part = await archive.text(targets.get(place.getAttributeNS(RELATION, 'id') ?? '') ?? '')
      return part === null ? null : plotOf(xml(part))
    }),
  )
}

/** XML of a part. A declaration of document types has no place in one, and could make it endless. */
export function xml(text: string): Document {
  if (text.includes('<!DOCTYPE')) throw new Error('a part of the document is not accepted')
  return new DOMParser().parseFromString(text, 'application/xml')
}

function pathOf(target: string): string {
  return target.startsWith('/') ? target.slice(1) : `word/${target}`
}

function plotOf(chart: Document): Plot | null {
  const area = first(chart, 'plotArea')
  const drawn = area && [...area.children].find((each) => each.namespaceURI === CHART && each.localName in KINDS)
  if (!drawn) return null
  const all = [...drawn.children].filter((each) => each.localName === 'ser')
  const categories = all[0] ? texts(first(all[0], 'cat')) : []
  const format = first(drawn, 'formatCode')?.textContent ?? ''
  return {
    kind: KINDS[drawn.localName as keyof typeof KINDS],
    title: titleOf(chart),
    categories,
    series: all.map((each) => ({
      name: texts(first(each, 'tx'))[0] ?? '',
      values: numbers(first(each, 'val'), categories.length),
    })),
    ...unitOf(format),
  }
}

function titleOf(chart: Document): string {
  const title = first(chart, 'title')
  return title ? [...title.getElementsByTagNameNS(DRAWING, 't')].map((each) => each.textContent).join('') : ''
}

function first(within: Document | Element, name: string): Element | null {
  return within.getElementsByTagNameNS(CHART, name)[0] ?? null
}

/** The points of a list by their number: those without a value are left out of it. */
function points(list: Element | null): Map<number, string> {
  const found = list ? [...list.getElementsByTagNameNS(CHART, 'pt')] : []
  return new Map(found.map((each) => [Number(each.getAttribute('idx')), first(each, 'v')?.textContent ?? '']))
}

function texts(list: Element | null): string[] {
  const found = points(list)
  const count = Math.max(
    Number((list && first(list, 'ptCount'))?.getAttribute('val') ?? 0),
    ...[...found.keys()].map((key) => key + 1),
  )
  return Array.from({ length: Math.min(count, MOST_CATEGORIES) }, (_, place) => found.get(place) ?? '')
}

function numbers(list: Element | null, count: number): (number | null)[] {
  const found = points(list)
  return Array.from({ length: count }, (_, place) => {
    const written = found.get(place)
    const value = written === undefined || written === '' ? NaN : Number(written)
    return Number.isFinite(value) ? value : null
  })
}

/** What a number format such as `"¥"#,##0.00` or `0.0"%"` says. */
function unitOf(format: string): Pick<Plot, 'prefix' | 'suffix' | 'places'> {
  const found = /^(?:"([^"]*)")?[#,0]*(?:\.(0+))?(?:"([^"]*)")?$/.exec(format)
  return { prefix: found?.[1] ?? '', suffix: found?.[3] ?? '', places: found ? (found[2]?.length ?? 0) : 4 }
}
