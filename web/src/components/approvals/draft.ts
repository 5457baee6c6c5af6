/** What has been typed into the form of a call's arguments, and what it would send. Pure; the form changes the entries in place. */
import {
  asJson,
  ExactNumber,
  holdsExactNumber,
  inOrder,
  isObject,
  isSame,
  readValue,
  type Value,
  type Values,
} from './arguments'
import { fieldsOf, misfit, unknownField, type Field, type Misfit, type Scalar, type Schema, type Shape } from './schema'

/** One argument being typed. `draft` is a text, those of a list, or the entries of an object. */
export interface Entry {
  field: Field
  state: 'absent' | 'null' | 'given'
  draft: string | string[] | Entry[]
}

/** What a form would send, and what does not fit, by place. */
export interface Read {
  values: Values
  faults: Map<string, Misfit>
}

/** The place of a fault: the names and numbers that lead to it. */
export function place(...way: (string | number)[]): string {
  return way.join('\u0000')
}

/** A form for arguments as they are, or an empty one. A value that does not have its field's shape is typed in as JSON. */
export function formOf(schema: Schema, values: Values = {}): Entry[] {
  const fields = fieldsOf(schema)
  const known = fields.map(({ name }) => name)
  const all = inOrder(new Set([...known, ...Object.keys(values)]), known)
  return all.map((name) => entryOf(fields.find((each) => each.name === name) ?? unknownField(name), own(values, name)))
}

function own(values: Values, name: string): Value | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

function entryOf(field: Field, value: Value | undefined): Entry {
  if (value === undefined)
    return { field, state: field.required ? 'given' : 'absent', draft: initial(field.shape, field.schema) }
  if (value === null && field.nullable) return { field, state: 'null', draft: initial(field.shape, field.schema) }
  const draft = draftOf(field.shape, value)
  if (draft !== null) return { field, state: 'given', draft }
  return { field: { ...field, shape: { kind: 'json' } }, state: 'given', draft: asJson(value, 2) }
}

/** What stands in a field before anything was typed: the default where there is one. */
function initial(shape: Shape, schema: Schema): Entry['draft'] {
  const usual = schema.default === undefined || schema.default === null ? null : draftOf(shape, schema.default)
  if (usual !== null) return usual
  if (shape.kind === 'object') return shape.fields.map((field) => entryOf(field, undefined))
  if (shape.kind === 'list') return []
  return shape.kind === 'boolean' ? 'false' : ''
}

/** A value as it would be typed; `null` when it does not have the shape. */
function draftOf(shape: Shape, value: Value): Entry['draft'] | null {
  switch (shape.kind) {
    case 'json':
      return asJson(value, 2)
    case 'list': {
      if (!Array.isArray(value)) return null
      const items = value.map((each) => scalarDraft(shape.item, each))
      return items.every((each) => each !== null) ? items : null
    }
    case 'object': {
      const names = shape.fields.map(({ name }) => name)
      if (!isObject(value) || Object.keys(value).some((name) => !names.includes(name))) return null
      return shape.fields.map((field) => entryOf(field, own(value, field.name)))
    }
    default:
      return scalarDraft(shape, value)
  }
}

function scalarDraft(shape: Scalar, value: Value): string | null {
  switch (shape.kind) {
    case 'text':
      return typeof value === 'string' ? value : null
    case 'number':
      return typeof value === 'number' || value instanceof ExactNumber ? asJson(value) : null
    case 'boolean':
      return typeof value === 'boolean' ? String(value) : null
    case 'choice': {
      const index = shape.values.findIndex((each) => isSame(each, value))
      return index < 0 ? null : String(index)
    }
  }
}

/** What the form says now. */
export function read(form: Entry[]): Read {
  const faults = new Map<string, Misfit>()
  return { values: valuesOf(form, [], faults), faults }
}

function valuesOf(form: Entry[], way: (string | number)[], faults: Map<string, Misfit>): Values {
  const given = form.filter((entry) => entry.state !== 'absent')
  return Object.fromEntries(given.map((entry) => [entry.field.name, valueOf(entry, [...way, entry.field.name], faults)]))
}

function valueOf(entry: Entry, way: (string | number)[], faults: Map<string, Misfit>): Value {
  if (entry.state === 'null') return null
  const before = faults.size
  const value = typed(entry, way, faults)
  const fault = faults.size === before ? unfit(entry.field.schema, value) : null
  if (fault) faults.set(place(...way), fault)
  return value
}

function unfit(schema: Schema, value: Value): Misfit | null {
  return misfit(schema, value) ?? (holdsExactNumber(value) ? { code: 'digits', params: {}, at: '' } : null)
}

function typed(entry: Entry, way: (string | number)[], faults: Map<string, Misfit>): Value {
  const { draft, field } = entry
  const { shape } = field
  if (shape.kind === 'object') return valuesOf(draft as Entry[], way, faults)
  if (shape.kind === 'list') {
    return (draft as string[]).map((each, index) => {
      const value = scalar(shape.item, each, [...way, index], faults)
      const fault = faults.has(place(...way, index)) ? null : unfit(shape.schema, value)
      if (fault) faults.set(place(...way, index), fault)
      return value
    })
  }
  return scalar(shape, draft as string, way, faults)
}

function scalar(shape: Scalar | { kind: 'json' }, draft: string, way: (string | number)[], faults: Map<string, Misfit>): Value {
  const fault = (code: string): null => {
    faults.set(place(...way), { code, params: {}, at: '' })
    return null
  }
  switch (shape.kind) {
    case 'text':
      return draft
    case 'boolean':
      return draft === 'true'
    case 'choice':
      return draft === '' ? fault('required') : (shape.values[Number(draft)] ?? null)
    case 'number':
      return numberOf(draft.trim(), shape.whole, fault)
    case 'json':
      try {
        return draft.trim() ? readValue(draft) : fault('required')
      } catch {
        return fault('json')
      }
  }
}

function numberOf(text: string, whole: boolean, fault: (code: string) => null): Value {
  if (!text) return fault('required')
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) || !Number.isFinite(Number(text))) return fault('number')
  const value = Number(text)
  if (whole && !Number.isInteger(value)) return fault('whole')
  return Number.isInteger(value) && !Number.isSafeInteger(value) && /^[+-]?\d+$/.test(text) ? new ExactNumber(text) : value
}

/** The names of the arguments that are not what they were. */
export function changes(before: Values, after: Values): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => !isSame(own(before, name), own(after, name)))
}

/** The draft of a field that is a single value, a list, or an object. */
export function textOf(entry: Entry): string {
  return typeof entry.draft === 'string' ? entry.draft : ''
}

export function itemsOf(entry: Entry): string[] {
  return entry.field.shape.kind === 'list' ? (entry.draft as string[]) : []
}

export function entriesOf(entry: Entry): Entry[] {
  return entry.field.shape.kind === 'object' ? (entry.draft as Entry[]) : []
}

/** What a new entry of a list begins with. */
export function blankItem(shape: Scalar): string {
  return shape.kind === 'boolean' ? 'false' : ''
}
