import { describe, expect, it } from 'vitest'

import { environmentLines, proposedName, tomlLines } from '@/components/settings/lines'
import { bodyOf, draftOf, emptyDraft, type KnownModel, type ModelDraft } from '@/composables/useModels'

const draft = (more: Partial<ModelDraft>): ModelDraft => ({ ...emptyDraft(), name: 'mine', model: 'qwen3-32b', ...more })

describe('a model as lines for the settings', () => {
  it('is a table of zeno.toml behind the name of the default', () => {
    const text = tomlLines(draft({ base_url: ' http://127.0.0.1:8000/v1 ', protocol: 'prompted' }), 'YOUR_KEY')
    expect(text).toBe(
      [
        'model = "mine"',
        '',
        '[models.mine]',
        'family = "openai"',
        'model = "qwen3-32b"',
        'base_url = "http://127.0.0.1:8000/v1"',
        'api_key = "YOUR_KEY"',
        'protocol = "prompted"',
      ].join('\n'),
    )
  })

  it('keeps names and values whole that mean something to TOML', () => {
    const text = tomlLines(draft({ name: 'qwen3.5', model: 'a "b" \\ c' }), 'YOUR_KEY')
    expect(text).toContain('[models."qwen3.5"]')
    expect(text).toContain('model = "a \\"b\\" \\\\ c"')
  })

  it('is the variables of the family, with the protocol that was chosen', () => {
    expect(environmentLines(draft({ base_url: 'http://127.0.0.1:11434/v1', protocol: 'prompted' }), 'YOUR_KEY')).toBe(
      'export OPENAI_BASE_URL=http://127.0.0.1:11434/v1\nexport OPENAI_API_KEY=YOUR_KEY\nexport ZENO_MODEL=prompted:openai:qwen3-32b',
    )
    const claude = environmentLines(draft({ family: 'anthropic', model: 'claude-sonnet-4-5' }), 'YOUR_KEY')
    expect(claude).toBe('export ANTHROPIC_API_KEY=YOUR_KEY\nexport ZENO_MODEL=anthropic:claude-sonnet-4-5')
  })

  it('keeps a shell from reading anything into a value', () => {
    const text = environmentLines(draft({ model: "x'; rm -rf ~; '" }), 'YOUR_KEY')
    expect(text).toContain(`export ZENO_MODEL='openai:x'\\''; rm -rf ~; '\\'''`)
  })

  it('never holds the key that was typed', () => {
    const typed = draft({ api_key: 'sk-secret-0001' })
    expect(tomlLines(typed, 'YOUR_KEY') + environmentLines(typed, 'YOUR_KEY')).not.toContain('sk-secret')
  })

  it('proposes a name that the settings take', () => {
    expect(proposedName('Qwen/Qwen3-32B')).toBe('Qwen3-32B')
    expect(proposedName('llama3.2:latest')).toBe('llama3.2-latest')
    expect(proposedName('  通义 ')).toBe('')
    expect(proposedName(`x${'-'.repeat(80)}`)).toBe('x')
  })
})

describe('what is sent of a model', () => {
  const kept: KnownModel = {
    name: 'mine',
    family: 'anthropic',
    model: 'claude',
    protocol: 'auto',
    host: 'example.com',
    base_url: 'https://example.com/v1',
    has_key: true,
    source: 'page',
    default: true,
    offline: false,
  }

  it('leaves the kept key alone unless another is typed or it is to go', () => {
    const form = draftOf(kept)
    expect(bodyOf(form)).toEqual({ family: 'anthropic', model: 'claude', protocol: 'auto', base_url: 'https://example.com/v1' })
    expect(bodyOf({ ...form, api_key: ' new ' })).toMatchObject({ api_key: 'new' })
    expect(bodyOf({ ...form, no_key: true })).toMatchObject({ api_key: '' })
  })
})
