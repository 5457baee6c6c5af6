import { describe, expect, it } from 'vitest'

import { auditCsv, csvField } from '@/components/settings/auditCsv'

describe('the audit as CSV', () => {
  it.each([
    ['=1+1', "'=1+1"],
    ['+49', "'+49"],
    ['-cmd', "'-cmd"],
    ['@SUM(A1)', "'@SUM(A1)"],
    [' =1', "' =1"],
    ['\t=1', "'\t=1"],
    ['\r=1', '"\'\r=1"'],
    ['a,b', '"a,b"'],
    ['=HYPERLINK("x")', '"\'=HYPERLINK(""x"")"'],
    ['two\nlines', '"two\nlines"'],
    ['plain - text', 'plain - text'],
    ['', ''],
  ])('%j becomes %j', (text, field) => {
    expect(csvField(text)).toBe(field)
  })

  it('leaves numbers alone and writes times in UTC', () => {
    const entry = {
      id: 17,
      at: 1_790_000_000_000,
      user_id: 'local',
      action: 'tool',
      target: '=cmd',
      run_id: 'r',
      call_id: 'c',
      effect: 'danger',
      digest: 'd',
      decision: '',
      result: 'done',
    }
    expect(csvField(-5)).toBe('-5')
    expect(auditCsv([entry])).toBe(
      'id,at,user_id,action,target,run_id,call_id,effect,digest,decision,result\r\n' +
        "17,2026-09-21T14:13:20.000Z,local,tool,'=cmd,r,c,danger,d,,done\r\n",
    )
  })
})
