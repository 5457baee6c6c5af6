import { describe, expect, it } from 'vitest'

import { difference, type Piece } from '@/run/difference'

const kind = (pieces: Piece[], wanted: Piece['kind']) => pieces.filter((piece) => piece.kind === wanted).map(({ text }) => text)
const before = (pieces: Piece[]) => pieces.flatMap(({ kind, text }) => (kind === 'new' ? [] : [text])).join('')
const after = (pieces: Piece[]) => pieces.flatMap(({ kind, text }) => (kind === 'gone' ? [] : [text])).join('')

describe('the difference of two texts', () => {
  it('is found word by word', () => {
    const pieces = difference('The total is 1,024 for May.', 'The total is 2,048 for all of May.')
    expect(kind(pieces, 'gone')).toEqual(['1,024'])
    expect(kind(pieces, 'new')).toEqual(['2,048', ' all of'])
  })

  it('is found character by character in Chinese, also where Latin letters touch it', () => {
    const pieces = difference('五月销售总额为1024元，渠道A最高。', '六月销售总额为2048元，渠道A最高。')
    expect(kind(pieces, 'gone')).toEqual(['五', '1024'])
    expect(kind(pieces, 'new')).toEqual(['六', '2048'])
  })

  it('gives both texts back, whatever they hold', () => {
    const texts = ['', 'a\r\nb\n', '  two  blanks ', '你好，world！🎉 e\u0301_x', '<b>&amp;</b>\t| 1 | 2 |', '日本語のテキスト']
    for (const one of texts) {
      for (const other of texts) {
        const pieces = difference(one, other)
        expect([before(pieces), after(pieces)]).toEqual([one, other])
      }
    }
  })

  it('says that equal texts are the same', () => {
    expect(difference('same words', 'same words')).toEqual([{ kind: 'same', text: 'same words' }])
    expect(difference('', '')).toEqual([])
  })

  it('compares lines where there are too many words, and gives up on more than that', () => {
    const lines = Array.from({ length: 40 }, (_, number) => `line ${number} of the report\n`)
    const changed = lines.with(20, 'another line\n').with(5, 'one more\n')
    const pieces = difference(lines.join(''), changed.join(''), 1000)
    expect(kind(pieces, 'gone')).toEqual(['line 5 of the report\n', 'line 20 of the report\n'])
    expect(difference(lines.join(''), changed.join(''), 10).map((piece) => piece.kind)).toEqual(['gone', 'new'])
  })

  it('takes two long texts that have nothing in common', () => {
    const pieces = difference('a '.repeat(60_000), '文'.repeat(60_000))
    expect(pieces).toHaveLength(2)
  })
})
