/**
 * Reading a ZIP archive (APPNOTE 6.3, without ZIP64 and encryption), within bounds: a file may say one size and unpack to another.
 * Knows nothing of what is in it.
 */

const MOST_ENTRIES = 2_000
/** Bytes of everything together, unpacked. */
const MOST_BYTES = 100_000_000

interface Entry {
  packed: Uint8Array<ArrayBuffer>
  size: number
  deflated: boolean
}

/** The archive is damaged, or larger than what is read here. */
export class ArchiveError extends Error {}

export class Archive {
  private constructor(private readonly entries: ReadonlyMap<string, Entry>) {}

  /** Throws `ArchiveError`. */
  static of(bytes: Uint8Array<ArrayBuffer>): Archive {
    try {
      return new Archive(directory(bytes))
    } catch (error) {
      throw error instanceof ArchiveError ? error : new ArchiveError('damaged')
    }
  }

  get names(): string[] {
    return [...this.entries.keys()]
  }

  /** What is kept under a name, `null` when there is nothing. Throws `ArchiveError`. */
  async bytes(name: string): Promise<Uint8Array<ArrayBuffer> | null> {
    const entry = this.entries.get(name)
    if (!entry) return null
    return entry.deflated ? await inflated(entry) : entry.packed
  }

  async text(name: string): Promise<string | null> {
    const bytes = await this.bytes(name)
    return bytes && new TextDecoder().decode(bytes)
  }
}

function directory(bytes: Uint8Array<ArrayBuffer>): Map<string, Entry> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = endRecord(view)
  const count = view.getUint16(end + 10, true)
  if (count > MOST_ENTRIES) throw new ArchiveError('too many entries')
  const entries = new Map<string, Entry>()
  let place = view.getUint32(end + 16, true)
  let total = 0
  for (let index = 0; index < count; index += 1) {
    if (view.getUint32(place, true) !== 0x02014b50) throw new ArchiveError('damaged')
    const [method, packed, size] = [
      view.getUint16(place + 10, true),
      view.getUint32(place + 20, true),
      view.getUint32(place + 24, true),
    ]
    const [name, extra, remark] = [28, 30, 32].map((offset) => view.getUint16(place + offset, true)) as [number, number, number]
    total += size
    if (total > MOST_BYTES || (method !== 0 && method !== 8)) throw new ArchiveError('too large, or packed in another way')
    const from = contents(view, view.getUint32(place + 42, true))
    const path = new TextDecoder().decode(bytes.subarray(place + 46, place + 46 + name))
    entries.set(path, { packed: bytes.subarray(from, from + packed), size, deflated: method === 8 })
    place += 46 + name + extra + remark
  }
  return entries
}

/** Where the record is that ends every archive: behind it there is at most a remark. */
function endRecord(view: DataView): number {
  for (let place = view.byteLength - 22; place >= Math.max(0, view.byteLength - 22 - 0xffff); place -= 1)
    if (view.getUint32(place, true) === 0x06054b50) return place
  throw new ArchiveError('no archive')
}

function contents(view: DataView, place: number): number {
  if (view.getUint32(place, true) !== 0x04034b50) throw new ArchiveError('damaged')
  return place + 30 + view.getUint16(place + 26, true) + view.getUint16(place + 28, true)
}

async function inflated({ packed, size }: Entry): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Response(packed).body?.pipeThrough(new DecompressionStream('deflate-raw')).getReader()
  const unpacked = new Uint8Array(size)
  let filled = 0
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
      if (done || !value) break
      if (filled + value.length > size) throw new ArchiveError('larger than it says')
      unpacked.set(value, filled)
      filled += value.length
    }
  } catch (error) {
    void reader?.cancel().catch(() => undefined)
    throw error instanceof ArchiveError ? error : new ArchiveError('damaged')
  }
  if (filled !== size) throw new ArchiveError('smaller than it says')
  return unpacked
}
