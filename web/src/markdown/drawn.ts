/** What was sanitised, as nodes of the page: plain elements, and for what is marked the components that it is given. */
import { h, type Component, type VNodeChild } from 'vue'

import type { Sanitised } from './sanitised'

/** What draws links, pictures, code, formulas and tasks. Each gets its text as it was written. */
export interface Parts {
  link: Component
  image: Component
  code: Component
  math: Component
  task: Component
  table: Component
}

export interface Drawing {
  parts: Parts
  /** Whether the text is still being written. */
  live: boolean
  /** The tag of the heading that the block is, if it is one. */
  heading: string
}

const PLAIN = new Set([
  ...['P', 'H3', 'H4', 'H5', 'H6', 'UL', 'OL', 'LI', 'BLOCKQUOTE', 'CODE', 'EM', 'STRONG', 'S', 'BR', 'HR', 'SPAN', 'PRE'],
  ...['TABLE', 'THEAD', 'TBODY', 'TR', 'TH', 'TD'],
])

export function drawn(fragment: Sanitised, drawing: Drawing): VNodeChild[] {
  return children(fragment, drawing)
}

function children(node: Node, drawing: Drawing): VNodeChild[] {
  return [...node.childNodes].map((child) => one(child, drawing))
}

function one(node: Node, drawing: Drawing): VNodeChild {
  if (!(node instanceof HTMLElement)) return node.nodeType === Node.TEXT_NODE ? node.nodeValue : null
  return marked(node, drawing) ?? plain(node, drawing)
}

function marked(element: HTMLElement, drawing: Drawing): VNodeChild | undefined {
  const { parts, live } = drawing
  const text = element.textContent ?? ''
  const data = (name: string) => element.getAttribute(`data-${name}`) ?? ''
  switch (element.className) {
    case 'z-link':
      return h(parts.link, { address: data('address') }, () => children(element, drawing))
    case 'z-image':
      return h(parts.image, { address: data('address'), words: text })
    case 'z-code':
      return h(parts.code, { code: text, language: data('language'), live })
    case 'z-math':
      return h(parts.math, { tex: text, display: data('display') === 'yes' })
    case 'z-task':
      return h(parts.task, { done: data('done') === 'yes' })
    default:
      return element.tagName === 'TABLE' ? h(parts.table, () => plain(element, drawing)) : undefined
  }
}

function plain(element: HTMLElement, drawing: Drawing): VNodeChild {
  if (!PLAIN.has(element.tagName)) return element.textContent
  const properties: Record<string, string> = {}
  if (element.className) properties['class'] = element.className
  const start = element.tagName === 'OL' ? element.getAttribute('start') : null
  if (start && /^\d+$/.test(start)) properties['start'] = start
  const tag = drawing.heading && /^H\d$/.test(element.tagName) ? drawing.heading : element.tagName.toLowerCase()
  return h(tag, properties, children(element, drawing))
}
