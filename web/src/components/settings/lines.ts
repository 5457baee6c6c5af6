/** A model as lines for the settings: what an operator copies where the page may not save it. No key is ever written into them. */
import type { Family, ModelDraft } from '@/composables/useModels'

/** Common servers on one's own machine, by the address they listen at. */
export const PRESETS: readonly { name: string; url: string }[] = [
  { name: 'Ollama', url: 'http://127.0.0.1:11434/v1' },
  { name: 'llama.cpp', url: 'http://127.0.0.1:8080/v1' },
  { name: 'vLLM', url: 'http://127.0.0.1:8000/v1' },
  { name: 'LM Studio', url: 'http://127.0.0.1:1234/v1' },
]

/** The families' own addresses, shown where none is given. */
export const OWN_URLS: Record<Family, string> = {
  openai: 'https://api.openai.com/v1',
  responses: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
}

/** A name that the settings take, made from the provider's. */
export function proposedName(model: string): string {
  const last = model.trim().split('/').at(-1) ?? ''
  const name = last.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '')
  return name.slice(0, 64).replace(/[^A-Za-z0-9]+$/, '')
}

/** `zeno.toml`. The first line says which model is taken when none is named; it has to stand ahead of all tables. */
export function tomlLines(draft: ModelDraft, placeholder: string): string {
  const lines = [
    `model = ${quoted(draft.name)}`,
    '',
    `[models.${/^[A-Za-z0-9_-]+$/.test(draft.name) ? draft.name : quoted(draft.name)}]`,
  ]
  lines.push(`family = ${quoted(draft.family)}`, `model = ${quoted(draft.model.trim())}`)
  if (draft.base_url.trim()) lines.push(`base_url = ${quoted(draft.base_url.trim())}`)
  lines.push(`api_key = ${quoted(placeholder)}`)
  if (draft.protocol !== 'auto') lines.push(`protocol = ${quoted(draft.protocol)}`)
  return lines.join('\n')
}

/** Variables of the environment: those that the provider's own clients read, and the model that is taken. */
export function environmentLines(draft: ModelDraft, placeholder: string): string {
  const prefix = draft.family === 'anthropic' ? 'ANTHROPIC' : 'OPENAI'
  const lines: string[] = []
  if (draft.base_url.trim()) lines.push(`export ${prefix}_BASE_URL=${shell(draft.base_url.trim())}`)
  lines.push(`export ${prefix}_API_KEY=${shell(placeholder)}`)
  const how = draft.protocol === 'prompted' ? 'prompted:' : ''
  lines.push(`export ZENO_MODEL=${shell(`${how}${draft.family}:${draft.model.trim()}`)}`)
  return lines.join('\n')
}

/** A basic string of TOML; JSON writes all but one character of it in the same way. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f')
}

function shell(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
