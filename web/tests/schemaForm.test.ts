import { describe, expect, it } from 'vitest'

import { readArguments, type Values } from '@/components/approvals/arguments'
import { changes, entriesOf, formOf, itemsOf, place, read, type Entry } from '@/components/approvals/draft'
import { fieldsOf, misfit, type Schema } from '@/components/approvals/schema'

const ROOM: Schema = {
  type: 'object',
  properties: {
    room: { enum: ['hall', 'large'], description: 'which room' },
    people: { type: 'integer', minimum: 1, maximum: 200 },
    window: {
      type: 'object',
      properties: { start: { type: 'string' }, minutes: { type: 'integer', default: 30 } },
      required: ['start'],
    },
    guests: { type: 'array', items: { type: 'string' } },
    price: { type: 'number', default: 0 },
    catering: { type: 'boolean', default: false },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null },
    extras: { type: 'object', additionalProperties: { type: 'integer' } },
    slots: { type: 'array', items: { type: 'object', properties: { start: { type: 'string' } } } },
  },
  required: ['room', 'people', 'window', 'guests'],
  additionalProperties: false,
}

const GIVEN: Values = {
  room: 'large',
  people: 12,
  window: { start: '09:00', minutes: 90 },
  guests: ['ann@example.com', 'Bob\r\n<bob@example.org>'],
  price: 12.5,
  catering: true,
  note: null,
  extras: { projector: 1 },
  slots: [{ start: '10:00' }],
}

function typing(form: Entry[], name: string, change: Partial<Entry>): Entry[] {
  return form.map((entry) => (entry.field.name === name ? { ...entry, ...change } : entry))
}

function faultOf(form: Entry[], ...way: (string | number)[]): string | undefined {
  return read(form).faults.get(place(...way))?.code
}

describe('the form of arguments', () => {
  it('says the same arguments when nothing is typed', () => {
    const { values, faults } = read(formOf(ROOM, GIVEN))
    expect(values).toEqual(GIVEN)
    expect(faults.size).toBe(0)
    expect(changes(GIVEN, values)).toEqual([])
  })

  it('has a field of its own for each kind of value, and JSON for what is deeper', () => {
    const kinds = Object.fromEntries(fieldsOf(ROOM).map(({ name, shape }) => [name, shape.kind]))
    expect(kinds).toEqual({
      room: 'choice',
      people: 'number',
      window: 'object',
      guests: 'list',
      price: 'number',
      catering: 'boolean',
      note: 'text',
      extras: 'json',
      slots: 'json',
    })
  })

  it('names the arguments that were changed, and only those', () => {
    const form = typing(formOf(ROOM, GIVEN), 'people', { draft: '14' })
    const { values } = read(form)
    expect(values['people']).toBe(14)
    expect(changes(GIVEN, values)).toEqual(['people'])
  })

  it('tells apart what is left out, nothing, and an empty text', () => {
    const form = formOf(ROOM, { ...GIVEN, note: '' })
    expect(read(form).values['note']).toBe('')
    expect(read(typing(form, 'note', { state: 'null' })).values['note']).toBeNull()
    expect(read(typing(form, 'note', { state: 'absent' })).values).not.toHaveProperty('note')
  })

  it('begins a new call with what is required and the defaults of the rest', () => {
    const form = formOf(ROOM)
    expect(form.filter(({ state }) => state === 'given').map(({ field }) => field.name)).toEqual(ROOM.required)
    const price = typing(form, 'price', { state: 'given' })
    expect(read(price).values['price']).toBe(0)
  })

  it('says of each field what is wrong with it', () => {
    const form = formOf(ROOM)
    expect(faultOf(form, 'room')).toBe('required')
    expect(faultOf(form, 'people')).toBe('required')
    for (const [draft, code] of [
      ['twelve', 'number'],
      ['1,200', 'number'],
      ['0x10', 'number'],
      ['1e999', 'number'],
      ['1.5', 'whole'],
      ['0', 'minimum'],
      ['201', 'maximum'],
      ['12', undefined],
    ] as const)
      expect(faultOf(typing(form, 'people', { draft }), 'people'), draft).toBe(code)
  })

  it('says of an entry of a list and of an inner field what is wrong with them', () => {
    const schema: Schema = {
      properties: {
        counts: { type: 'array', items: { type: 'integer', maximum: 9 }, maxItems: 2 },
        inner: { type: 'object', properties: { size: { type: 'number' } }, required: ['size'] },
      },
      required: ['counts', 'inner'],
    }
    const form = formOf(schema, { counts: [1, 2], inner: { size: 1 } })
    expect(faultOf(typing(form, 'counts', { draft: ['1', 'x'] }), 'counts', 1)).toBe('number')
    expect(faultOf(typing(form, 'counts', { draft: ['1', '10'] }), 'counts', 1)).toBe('maximum')
    expect(faultOf(typing(form, 'counts', { draft: ['1', '2', '3'] }), 'counts')).toBe('many')
    const inner = entriesOf(form[1] as Entry).map((entry) => ({ ...entry, draft: 'large' }))
    expect(faultOf(typing(form, 'inner', { draft: inner }), 'inner', 'size')).toBe('number')
  })

  it('checks what was typed in as JSON, down to the place', () => {
    const form = formOf(ROOM, GIVEN)
    expect(faultOf(typing(form, 'extras', { draft: '{"projector": 1' }), 'extras')).toBe('json')
    expect(faultOf(typing(form, 'extras', { draft: '[1]' }), 'extras')).toBe('type')
    expect(read(typing(form, 'extras', { draft: '{"projector": "one"}' })).faults.get('extras')).toMatchObject({
      code: 'type',
      at: 'projector',
    })
  })

  it('shows a value that has not the shape of its field as JSON, and what the tool does not know too', () => {
    const form = formOf(ROOM, { ...GIVEN, people: 'many', colour: 'red' })
    const people = form.find(({ field }) => field.name === 'people')
    expect(people).toMatchObject({ draft: '"many"', field: { shape: { kind: 'json' } } })
    expect(form.at(-1)).toMatchObject({ field: { name: 'colour', known: false } })
    expect(read(form).values).toMatchObject({ people: 'many', colour: 'red' })
  })

  it('does not send a number of which it would lose digits', () => {
    const before = readArguments('{"account":12345678901234567890,"amount":1}')
    expect(before).not.toBeNull()
    const schema: Schema = { properties: { account: { type: 'integer' }, amount: { type: 'number' } } }
    const form = formOf(schema, before ?? {})
    expect(form[0]?.draft).toBe('12345678901234567890')
    expect(faultOf(form, 'account')).toBe('digits')
    expect(faultOf(formOf({}, { inner: readArguments('{"n":9007199254740993}') }), 'inner')).toBe('digits')
    expect(faultOf(typing(form, 'account', { draft: '7' }), 'account')).toBeUndefined()
  })

  it('keeps every character of a text, names that are awkward, and null among choices', () => {
    const text = ' a\tb\u202Ec \n'
    expect(read(formOf(ROOM, { ...GIVEN, guests: [text] })).values['guests']).toEqual([text])
    expect(itemsOf(formOf(ROOM, { ...GIVEN, guests: [text] })[3] as Entry)).toEqual([text])
    const awkward = readArguments('{"__proto__":"x","constructor":"y"}') ?? {}
    expect(JSON.stringify(read(formOf(ROOM, awkward)).values)).toContain('"__proto__":"x","constructor":"y"')
    expect(read(formOf({ properties: { one: { enum: [null, 1] } } }, { one: null })).values).toEqual({ one: null })
  })
})

describe('whether a value fits a schema', () => {
  it.each<[Schema, unknown, string | undefined]>([
    [{ type: 'string', minLength: 2 }, '饺', 'short'],
    [{ type: 'string', maxLength: 1 }, '😀', undefined],
    [{ type: 'string', pattern: '^a' }, 'b', 'pattern'],
    [{ type: 'string', pattern: '(?P<x>a)' }, 'b', undefined],
    [{ type: ['string', 'null'] }, null, undefined],
    [{ type: 'number', exclusiveMinimum: 1 }, 1, 'above'],
    [{ type: 'number', multipleOf: 0.1 }, 0.3, undefined],
    [{ type: 'integer' }, true, 'type'],
    [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, [], 'type'],
    [{ const: 'x' }, 'y', 'choice'],
    [{ type: 'object', properties: {}, additionalProperties: false }, { a: 1 }, 'unknown'],
    [{ type: 'object', required: ['toString'] }, {}, 'missing'],
  ])('%j and %j: %s', (schema, value, code) => {
    expect(misfit(schema, value as Values)?.code).toBe(code)
  })
})
