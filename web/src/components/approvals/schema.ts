/** What a tool takes, read from the JSON schema of its arguments: the shape of each field, and whether a value fits. */
import { asJson, ExactNumber, isObject, isSame, type Value, type Values } from './arguments'

/** The part of JSON schema that tools use. */
export interface Schema {
  type?: string | string[]
  description?: string
  enum?: Value[]
  const?: Value
  anyOf?: Schema[]
  oneOf?: Schema[]
  default?: Value
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  multipleOf?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  minItems?: number
  maxItems?: number
}

/** How a single value is typed in; `choice` is one of some values. */
export type Scalar =
  { kind: 'text' } | { kind: 'number'; whole: boolean } | { kind: 'boolean' } | { kind: 'choice'; values: Value[] }

export type Shape =
  Scalar | { kind: 'list'; item: Scalar; schema: Schema } | { kind: 'object'; fields: Field[] } | { kind: 'json' }

export interface Field {
  name: string
  description: string
  required: boolean
  nullable: boolean
  /** Whether the tool knows it at all. */
  known: boolean
  shape: Shape
  schema: Schema
}

/** Why a value does not fit; `code` has words, `at` is the place inside the value. */
export interface Misfit {
  code: string
  params: Record<string, string | number>
  at: string
}

/** The fields of an object, in the schema's order. Below the first level everything that is not simple is typed in as JSON. */
export function fieldsOf(schema: Schema, depth = 0): Field[] {
  return Object.entries(schema.properties ?? {}).map(([name, own]) => {
    const { inner, nullable } = withoutNull(own)
    return {
      name,
      description: own.description ?? inner.description ?? '',
      required: schema.required?.includes(name) ?? false,
      nullable,
      known: true,
      shape: shapeOf(inner, depth),
      schema: own,
    }
  })
}

/** A field for an argument that the tool does not know. */
export function unknownField(name: string): Field {
  const shape: Shape = { kind: 'json' }
  return { name, description: '', required: false, nullable: false, known: false, shape, schema: {} }
}

function withoutNull(schema: Schema): { inner: Schema; nullable: boolean } {
  if (Array.isArray(schema.type) && schema.type.includes('null')) {
    const rest = schema.type.filter((each) => each !== 'null')
    return { inner: { ...schema, type: rest.length === 1 ? (rest[0] ?? 'null') : rest }, nullable: true }
  }
  const choices = schema.anyOf ?? schema.oneOf
  const rest = choices?.filter((each) => each.type !== 'null')
  if (!choices || !rest || rest.length === choices.length) return { inner: schema, nullable: false }
  return { inner: rest.length === 1 ? (rest[0] ?? {}) : { anyOf: rest }, nullable: true }
}

function shapeOf(schema: Schema, depth: number): Shape {
  const scalar = scalarOf(schema)
  if (scalar) return scalar
  if (schema.type === 'array' && schema.items) {
    const item = scalarOf(schema.items)
    return item ? { kind: 'list', item, schema: schema.items } : { kind: 'json' }
  }
  const closed = schema.properties && Object.keys(schema.properties).length > 0 && !isOpen(schema)
  return schema.type === 'object' && closed && depth === 0
    ? { kind: 'object', fields: fieldsOf(schema, depth + 1) }
    : { kind: 'json' }
}

function isOpen(schema: Schema): boolean {
  return schema.additionalProperties === true || typeof schema.additionalProperties === 'object'
}

function scalarOf(schema: Schema): Scalar | null {
  if (schema.enum) return { kind: 'choice', values: schema.enum }
  if (schema.const !== undefined) return { kind: 'choice', values: [schema.const] }
  switch (schema.type) {
    case 'string':
      return { kind: 'text' }
    case 'integer':
    case 'number':
      return { kind: 'number', whole: schema.type === 'integer' }
    case 'boolean':
      return { kind: 'boolean' }
    default:
      return null
  }
}

/** The first reason why a value does not fit a schema; `null` when it does, as far as the page can tell. */
export function misfit(schema: Schema, value: Value, at = ''): Misfit | null {
  const fault = (code: string, params: Misfit['params'] = {}): Misfit => ({ code, params, at })
  const choices = schema.anyOf ?? schema.oneOf
  if (choices && !choices.some((each) => misfit(each, value) === null)) return fault('type', { types: typesOf(choices) })
  if (schema.type !== undefined && ![schema.type].flat().some((type) => isOf(type, value)))
    return fault('type', { types: [schema.type].flat().join(', ') })
  if (schema.enum && !schema.enum.some((each) => isSame(each, value)))
    return fault('choice', { values: schema.enum.map((each) => asJson(each)).join(', ') })
  if (schema.const !== undefined && !isSame(schema.const, value)) return fault('choice', { values: asJson(schema.const) })
  if (typeof value === 'number') return numberMisfit(schema, value, fault)
  if (typeof value === 'string') return textMisfit(schema, value, fault)
  if (Array.isArray(value)) return listMisfit(schema, value, fault, at)
  return isObject(value) ? objectMisfit(schema, value, fault, at) : null
}

type Say = (code: string, params?: Misfit['params']) => Misfit

function isOf(type: string, value: Value): boolean {
  if (value instanceof ExactNumber) return type === 'integer' || type === 'number'
  switch (type) {
    case 'integer':
      return Number.isInteger(value)
    case 'number':
    case 'string':
    case 'boolean':
      return typeof value === type
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    default:
      return true
  }
}

function typesOf(schemas: Schema[]): string {
  return [...new Set(schemas.flatMap((each) => each.type ?? []))].join(', ')
}

function numberMisfit(schema: Schema, value: number, fault: Say): Misfit | null {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (minimum !== undefined && value < minimum) return fault('minimum', { least: minimum })
  if (maximum !== undefined && value > maximum) return fault('maximum', { most: maximum })
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return fault('above', { limit: exclusiveMinimum })
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return fault('below', { limit: exclusiveMaximum })
  if (multipleOf !== undefined && Math.abs(value / multipleOf - Math.round(value / multipleOf)) > 1e-9)
    return fault('multiple', { of: multipleOf })
  return null
}

function textMisfit(schema: Schema, value: string, fault: Say): Misfit | null {
  const length = [...value].length
  if (schema.minLength !== undefined && length < schema.minLength) return fault('short', { least: schema.minLength })
  if (schema.maxLength !== undefined && length > schema.maxLength) return fault('long', { most: schema.maxLength })
  if (schema.pattern !== undefined && !matches(schema.pattern, value)) return fault('pattern', { pattern: schema.pattern })
  return null
}

/** Whether a text has a pattern in it. One that this language does not know is left to the server. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value)
  } catch {
    return true
  }
}

function listMisfit(schema: Schema, value: Value[], fault: Say, at: string): Misfit | null {
  if (schema.minItems !== undefined && value.length < schema.minItems) return fault('few', { least: schema.minItems })
  if (schema.maxItems !== undefined && value.length > schema.maxItems) return fault('many', { most: schema.maxItems })
  const { items } = schema
  return items ? first(value.map((each, index) => misfit(items, each, `${at}[${index}]`))) : null
}

function objectMisfit(schema: Schema, value: Values, fault: Say, at: string): Misfit | null {
  const known = schema.properties ?? {}
  const missing = schema.required?.filter((name) => !Object.hasOwn(value, name)) ?? []
  if (missing.length) return fault('missing', { names: missing.join(', ') })
  const rest = Object.keys(value).filter((name) => !Object.hasOwn(known, name))
  if (rest.length && schema.additionalProperties === false) return fault('unknown', { names: rest.join(', ') })
  const ofRest = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {}
  const each = Object.entries(value).map(([name, own]) =>
    misfit((Object.hasOwn(known, name) && known[name]) || ofRest, own, at ? `${at}.${name}` : name),
  )
  return first(each)
}

function first(misfits: (Misfit | null)[]): Misfit | null {
  return misfits.find((each) => each !== null) ?? null
}
