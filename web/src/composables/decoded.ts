/** Bytes as text, the way files of offices are written: Unicode, with or without a mark of it, or else GBK. Pure. */

export interface Decoded {
  text: string
  encoding: 'UTF-8' | 'UTF-16' | 'GBK'
}

/** `whole` is false when the bytes may end within a character. */
export function decoded(bytes: Uint8Array, whole: boolean): Decoded {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return { text: new TextDecoder('utf-16le').decode(bytes), encoding: 'UTF-16' }
  if (first === 0xfe && second === 0xff) return { text: new TextDecoder('utf-16be').decode(bytes), encoding: 'UTF-16' }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: !whole }), encoding: 'UTF-8' }
  } catch {
    return { text: new TextDecoder('gb18030').decode(bytes), encoding: 'GBK' }
  }
}
