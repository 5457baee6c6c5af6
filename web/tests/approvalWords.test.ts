import { describe, expect, it } from 'vitest'

import { asJson, ExactNumber, inOrder, isSame, readArguments } from '@/components/approvals/arguments'
import { exactly, like, readPattern } from '@/components/approvals/pattern'
import { questionOf } from '@/components/approvals/question'
import { nextChange, remaining } from '@/components/approvals/remaining'
import { touches } from '@/components/approvals/touches'
import { deceiving, deceivingIn, pieces } from '@/components/approvals/visible'

function marks(text: string): string[] {
  return pieces(text).flatMap(({ mark, code }) => (mark ? [`${mark} ${code}`] : []))
}

describe('the display of arguments', () => {
  it('loses nothing of a text', () => {
    const text = ' a  b\t\u200B\u202Etxt.exe\u2066 \r\n饺子\u3000😀👨‍👩‍👧 \uD800 end '
    expect(
      pieces(text)
        .map((piece) => piece.text)
        .join(''),
    ).toBe(text)
  })

  it.each([
    ['pay\u202Eexe.txt', ['bidi U+202E']],
    ['a\u2067b\u2069', ['bidi U+2067', 'bidi U+2069']],
    ['ad\u200Bmin', ['hidden U+200B']],
    ['a\u00ADb', ['hidden U+00AD']],
    ['a\u{E0041}b', ['hidden U+E0041']],
    ['a\u3164b', ['hidden U+3164']],
    ['a\u2800b', ['hidden U+2800']],
    ['a\u0000b\u001B', ['control U+0000', 'control U+001B']],
    ['a\uD800b', ['hidden U+D800']],
    ['a\uFE0Fb', ['hidden U+FE0F']],
    ['a\u00A0b', ['blank U+00A0']],
    ['a\tb', ['tab U+0009']],
    ['a \nb', ['space U+0020']],
    ['a  b', ['space U+0020']],
  ])('makes visible what is in %j', (text, shown) => {
    expect(marks(text)).toEqual(shown)
  })

  it.each(['plain words, and more', '饺子和 tea', 'שלום', '😀 ❤️ 👩🏽‍💻 1️⃣', 'line\nline', 'é'])('leaves %s as it is', (text) => {
    expect(marks(text)).toEqual([])
  })

  it('counts what would deceive, in names too, and not what is merely a space', () => {
    expect(deceiving('a\tb  c\u00A0d\r\n')).toBe(0)
    expect(deceivingIn({ 'to\u200B': ['x\u202E', { deep: '\u2066' }], n: 1, none: null })).toBe(3)
  })

  it('shows every digit of a number', () => {
    const read = readArguments('{"account":12345678901234567890,"text":"#9007199254740993","few":1.5}')
    expect(read?.['account']).toBeInstanceOf(ExactNumber)
    expect(asJson(read ?? null)).toBe('{"account":12345678901234567890,"text":"#9007199254740993","few":1.5}')
    expect(isSame({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 })).toBe(true)
  })

  it('reads only what is an object, and puts it in the order of the tool', () => {
    expect(readArguments('[1]')).toBeNull()
    expect(readArguments('{"a":')).toBeNull()
    expect(inOrder(['text', 'to', 'x'], ['to', 'cc', 'text'])).toEqual(['to', 'text', 'x'])
  })
})

describe('what a call touches', () => {
  function named(values: Parameters<typeof touches>[0]): string[] {
    return touches(values).named.map(({ kind, name }) => `${kind} ${name}`)
  }
  it('names addresses, wherever they stand', () => {
    expect(
      named({ to: ['Ann <ann@example.com>', 'bob@example.org'], cc: 'c@x.org; d@x.org', text: 'write to e@x.org' }),
    ).toEqual(['address ann@example.com', 'address bob@example.org', 'address c@x.org', 'address d@x.org'])
  })
  it('names the host that an address really leads to', () => {
    expect(named({ method: 'POST', url: 'https://bank.example@evil.example:8443/bank.example' })).toEqual([
      'host POST evil.example:8443',
    ])
    expect(named({ url: 'http://2130706433/' })).toEqual(['host 127.0.0.1'])
    expect(named({ url: 'https://p\u0430ypal.example/' })).toEqual(['host xn--pypal-4ve.example'])
  })
  it('names the tables of a statement, and says when it concerns every row', () => {
    const statement = "UPDATE shop.orders o SET x = 'from nowhere' -- from comment\n"
    expect(touches({ statement, database: 'shop' })).toEqual({
      named: [
        { kind: 'table', name: 'shop.orders' },
        { kind: 'database', name: 'shop' },
      ],
      everyRow: true,
    })
    expect(touches({ statement: 'DELETE FROM "Order Items" WHERE id = 1' })).toMatchObject({
      named: [{ kind: 'table', name: '"Order Items"' }],
      everyRow: false,
    })
    expect(named({ sql: 'insert into 订单 select * from a join b on a.x = b.x' })).toEqual(['table 订单', 'table a', 'table b'])
  })
  it('does not take a question in words for a statement', () => {
    expect(named({ query: 'news from China' })).toEqual([])
  })
  it('names files', () => {
    expect(named({ path: 'a/b.txt', attachments: ['c.pdf'], text: 'd.txt' })).toEqual(['path a/b.txt', 'path c.pdf'])
  })
})

describe('the time that is left', () => {
  const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000]
  it.each([
    [0, '', ''],
    [-5, '', ''],
    [1, '1 second', '1秒钟'],
    [59 * SECOND + 1, '1 minute', '1分钟'],
    [90 * SECOND, '1 minute, 30 seconds', '1分钟30秒钟'],
    [2 * MINUTE, '2 minutes', '2分钟'],
    [10 * MINUTE + 59 * SECOND, '10 minutes', '10分钟'],
    [HOUR, '1 hour', '1小时'],
    [23 * HOUR + 5 * MINUTE, '23 hours, 5 minutes', '23小时5分钟'],
    [72 * HOUR, '3 days', '3天'],
  ])('%i milliseconds', (milliseconds, english, chinese) => {
    expect(remaining(milliseconds, 'en-US')).toBe(english)
    expect(remaining(milliseconds, 'zh-CN')).toBe(chinese)
  })
  it('counts each second near the end, and never sleeps through the moment when it begins to', () => {
    expect(nextChange(30 * SECOND)).toBe(SECOND)
    expect(nextChange(1500)).toBe(500)
    expect(nextChange(2 * MINUTE + 10 * SECOND)).toBe(10 * SECOND)
    expect(nextChange(5 * HOUR + 20 * SECOND)).toBe(20 * SECOND)
  })
})

describe('the patterns of rules', () => {
  it.each(['a*b', '[x]', 'what?', 'plain', '[', ']', '[[*]]', ''])('%j is exactly itself', (text) => {
    expect(readPattern(exactly(text))).toEqual({ exact: true, text })
  })
  it('keeps stars and question marks of a pattern, and takes brackets as they are', () => {
    expect(readPattern('*@example.com')).toEqual({ exact: false, text: '*@example.com' })
    expect(like('[urgent]*')).toBe('[[]urgent]*')
    expect(readPattern('[ab]').exact).toBe(false)
  })
})

describe('a question', () => {
  it('is one for words when there is nothing to choose from', () => {
    expect(questionOf('{"question":"Which?","form":"single","options":[]}').form).toBe('text')
    expect(questionOf('{"question":"Which?","form":"single","options":["a","a","b",1]}')).toEqual({
      question: 'Which?',
      form: 'single',
      options: ['a', 'b'],
      preview: '',
    })
    expect(questionOf('not JSON')).toEqual({ question: '', form: 'text', options: [], preview: '' })
  })
})
