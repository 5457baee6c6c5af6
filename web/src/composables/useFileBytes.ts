/** The bytes of a file of a conversation, as many as are wanted of it, fetched when they are asked for. */
import { onBeforeUnmount, shallowRef, type ShallowRef } from 'vue'

import { fetched, fileAddress } from '@/api/client'

export interface FileBytes {
  bytes: Uint8Array<ArrayBuffer>
  /** Whether that is all of it. */
  whole: boolean
}

export function useFileBytes<T>(read: (file: FileBytes) => T | Promise<T>): {
  content: ShallowRef<T | null>
  trouble: ShallowRef<unknown>
  busy: ShallowRef<boolean>
  load: (sessionId: string, path: string, most: number) => Promise<void>
} {
  const content = shallowRef<T | null>(null) as ShallowRef<T | null>
  const trouble = shallowRef<unknown>(null)
  const busy = shallowRef(false)
  const left = new AbortController()
  onBeforeUnmount(() => left.abort())

  async function load(sessionId: string, path: string, most: number): Promise<void> {
    busy.value = true
    trouble.value = null
    try {
      const response = await fetched('GET', fileAddress(sessionId, path), { signal: left.signal })
      content.value = await read(await beginning(response, most))
    } catch (error) {
      if (!left.signal.aborted) trouble.value = error
    } finally {
      busy.value = false
    }
  }
  return { content, trouble, busy, load }
}

async function beginning(response: Response, most: number): Promise<FileBytes> {
  const reader = response.body?.getReader()
  const pieces: Uint8Array[] = []
  let size = 0
  let whole = false
  while (reader && size < most) {
    const { done, value } = await reader.read()
    whole = done
    if (done) break
    pieces.push(value)
    size += value.length
  }
  if (!whole) void reader?.cancel().catch(() => undefined)
  const bytes = new Uint8Array(size)
  let place = 0
  for (const piece of pieces) {
    bytes.set(piece, place)
    place += piece.length
  }
  return { bytes: bytes.slice(0, Math.min(size, most)), whole: whole || !reader }
}
