/** Colours for code by highlight.js, of which only the core and the languages that are seen are loaded. */
import type { HLJSApi, LanguageFn } from 'highlight.js'

import { sanitisedCode, type Sanitised } from './sanitised'

type Load = () => Promise<{ default: LanguageFn }>

const LANGUAGES: Record<string, Load> = {
  bash: () => import('highlight.js/lib/languages/bash'),
  c: () => import('highlight.js/lib/languages/c'),
  cpp: () => import('highlight.js/lib/languages/cpp'),
  csharp: () => import('highlight.js/lib/languages/csharp'),
  css: () => import('highlight.js/lib/languages/css'),
  diff: () => import('highlight.js/lib/languages/diff'),
  dockerfile: () => import('highlight.js/lib/languages/dockerfile'),
  go: () => import('highlight.js/lib/languages/go'),
  ini: () => import('highlight.js/lib/languages/ini'),
  java: () => import('highlight.js/lib/languages/java'),
  javascript: () => import('highlight.js/lib/languages/javascript'),
  json: () => import('highlight.js/lib/languages/json'),
  kotlin: () => import('highlight.js/lib/languages/kotlin'),
  lua: () => import('highlight.js/lib/languages/lua'),
  makefile: () => import('highlight.js/lib/languages/makefile'),
  markdown: () => import('highlight.js/lib/languages/markdown'),
  nginx: () => import('highlight.js/lib/languages/nginx'),
  php: () => import('highlight.js/lib/languages/php'),
  powershell: () => import('highlight.js/lib/languages/powershell'),
  python: () => import('highlight.js/lib/languages/python'),
  r: () => import('highlight.js/lib/languages/r'),
  ruby: () => import('highlight.js/lib/languages/ruby'),
  rust: () => import('highlight.js/lib/languages/rust'),
  scss: () => import('highlight.js/lib/languages/scss'),
  shell: () => import('highlight.js/lib/languages/shell'),
  sql: () => import('highlight.js/lib/languages/sql'),
  swift: () => import('highlight.js/lib/languages/swift'),
  typescript: () => import('highlight.js/lib/languages/typescript'),
  xml: () => import('highlight.js/lib/languages/xml'),
  yaml: () => import('highlight.js/lib/languages/yaml'),
}

const ALIASES: Record<string, string> = {
  ...{ sh: 'bash', zsh: 'bash', console: 'shell', h: 'c', 'c++': 'cpp', hpp: 'cpp', cc: 'cpp', cs: 'csharp', 'c#': 'csharp' },
  ...{
    patch: 'diff',
    docker: 'dockerfile',
    golang: 'go',
    toml: 'ini',
    conf: 'ini',
    env: 'ini',
    js: 'javascript',
    mjs: 'javascript',
  },
  ...{ jsx: 'javascript', json5: 'json', jsonl: 'json', kt: 'kotlin', make: 'makefile', md: 'markdown', ps1: 'powershell' },
  ...{ py: 'python', python3: 'python', rb: 'ruby', rs: 'rust', postgresql: 'sql', mysql: 'sql', sqlite: 'sql', plsql: 'sql' },
  ...{ ts: 'typescript', tsx: 'typescript', html: 'xml', svg: 'xml', vue: 'xml', xhtml: 'xml', yml: 'yaml', less: 'scss' },
}

/** Characters of code that are coloured; more of them would hold the page up. */
export const LONGEST = 40_000

let core: Promise<HLJSApi> | undefined
const loaded = new Map<string, Promise<void>>()

/** The name that a language is known by here, `null` for one that has no colours. */
export function languageOf(written: string): string | null {
  const name = written.toLowerCase()
  const known = Object.hasOwn(ALIASES, name) ? (ALIASES[name] ?? name) : name
  return Object.hasOwn(LANGUAGES, known) ? known : null
}

/** `code` in colours, `null` when it has none: an unknown language, too long, or the colours cannot be loaded. */
export async function highlighted(code: string, written: string): Promise<Sanitised | null> {
  const language = languageOf(written)
  if (!language || code.length > LONGEST) return null
  try {
    const engine = await ready(language)
    return sanitisedCode(engine.highlight(code, { language, ignoreIllegals: true }).value)
  } catch {
    return null
  }
}

async function ready(language: string): Promise<HLJSApi> {
  core ??= import('highlight.js/lib/core').then((module) => module.default)
  const engine = await core
  const known = loaded.get(language)
  const loading = known ?? LANGUAGES[language]?.().then((module) => engine.registerLanguage(language, module.default))
  if (loading && !known) loaded.set(language, loading)
  await loading
  return engine
}
