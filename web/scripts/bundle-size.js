/** What a first visit loads: the scripts and styles of the page itself, without what comes when it is needed. */
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const BUILT = new URL('../../src/zeno/web/', import.meta.url)
const MOST = 400 * 1024
const LAZY = ['echarts', 'highlight.js', 'katex', 'docx-preview']

const manifest = JSON.parse(readFileSync(new URL('.vite/manifest.json', BUILT), 'utf-8'))
const size = (file) => gzipSync(readFileSync(new URL(file, BUILT))).length

const first = new Set()
function reach(name) {
  if (first.has(name)) return
  first.add(name)
  for (const next of manifest[name].imports ?? []) reach(next)
}
for (const [name, chunk] of Object.entries(manifest)) if (chunk.isEntry) reach(name)

const files = new Set([...first].flatMap((name) => [manifest[name].file, ...(manifest[name].css ?? [])]))
const total = [...files].reduce((sum, file) => sum + size(file), 0)
const eager = [...first].filter((name) => LAZY.some((each) => (manifest[name].src ?? name).includes(each)))
console.log(`main bundle: ${(total / 1024).toFixed(1)} KiB gzip of ${MOST / 1024} permitted, in ${files.size} files`)
if (total > MOST || eager.length) {
  console.error(eager.length ? `loaded at once, but should be lazy: ${eager.join(', ')}` : 'the main bundle is too large')
  process.exit(1)
}
