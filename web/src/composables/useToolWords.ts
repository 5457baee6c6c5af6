/** What a tool and its arguments are, in words for a person: a tool that ships has them in every language, others speak for themselves. */
import { useI18n } from 'vue-i18n'

import type { Schema } from '@/components/approvals/schema'

interface Described {
  name: string
  /** Both written for the model. */
  description: string
  parameters: object | null
}

export function useToolWords() {
  const { t, te, tm } = useI18n()

  /** A tool with the words of the page's language. One that only has the name of one that ships is another tool. */
  function worded({ name, description, parameters }: Described): { description: string; parameters: Schema | null } {
    const schema = parameters as Schema | null
    const key = `house.tools.${name}`
    if (!te(`${key}.purpose`)) return { description, parameters: schema }
    const known = Object.keys(tm(`${key}.parameters`))
    const own = Object.entries(schema?.properties ?? {})
    if (known.length !== own.length || !own.every(([each]) => known.includes(each))) return { description, parameters: schema }
    const properties = own.map(([each, field]) => [
      each,
      { ...undescribed(field), description: t(`${key}.parameters.${each}`) },
    ])
    return { description: t(`${key}.purpose`), parameters: { ...schema, properties: Object.fromEntries(properties) } }
  }
  return { worded }
}

/** Without the model's words, also those further in. */
function undescribed(schema: Schema): Schema {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => (key === 'description' && typeof value === 'string' ? undefined : value)),
  )
}
