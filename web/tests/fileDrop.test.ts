import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'

import { refuseFiles, useFileDrop } from '@/composables/useFileDrop'

const zone = document.createElement('section')
const beside = document.createElement('aside')
const dropped = vi.fn()

beforeAll(() => {
  document.body.append(zone, beside)
  for (const [type, listener] of Object.entries(useFileDrop(dropped).listeners)) {
    zone.addEventListener(type, listener as EventListener)
  }
  refuseFiles()
})
afterEach(() => dropped.mockClear())

/** What happens there; whether the browser does as it would by itself. */
function happens(type: string, where: Element, types = ['Files']): { byItself: boolean; effect: string } {
  const dataTransfer = { types, files: [new File(['x'], 'x.csv')], dropEffect: 'copy' }
  const event = Object.assign(new Event(type, { bubbles: true, cancelable: true }), { dataTransfer })
  return { byItself: where.dispatchEvent(event), effect: dataTransfer.dropEffect }
}

describe('a file that is dragged onto the page', () => {
  it('is taken by the part that takes files', () => {
    expect(happens('dragover', zone)).toEqual({ byItself: false, effect: 'copy' })
    expect(happens('drop', zone).byItself).toBe(false)
    expect(dropped).toHaveBeenCalledTimes(1)
  })

  it('is refused beside it, and opens nothing', () => {
    expect(happens('dragover', beside)).toEqual({ byItself: false, effect: 'none' })
    expect(happens('drop', beside).byItself).toBe(false)
    expect(dropped).not.toHaveBeenCalled()
  })

  it('does not keep words from being dragged', () => {
    expect(happens('drop', beside, ['text/plain'])).toEqual({ byItself: true, effect: 'copy' })
  })
})
