/** What kind of file something is, and what of it can be shown. By its name, which the server's own types follow. Pure. */
import type { FilePart } from '@/api/types'

export type FileKind = 'image' | 'table' | 'json' | 'markdown' | 'text' | 'document' | 'sheet' | 'other'

const KINDS: Record<string, FileKind> = {
  ...{
    png: 'image',
    jpg: 'image',
    jpeg: 'image',
    gif: 'image',
    webp: 'image',
    csv: 'table',
    tsv: 'table',
    json: 'json',
    md: 'markdown',
    markdown: 'markdown',
  },
  ...{ txt: 'text', log: 'text', yaml: 'text', yml: 'text', toml: 'text', ini: 'text', xml: 'text', html: 'text', sql: 'text' },
  ...{ py: 'text', js: 'text', ts: 'text', jsonl: 'text', docx: 'document', xlsx: 'sheet', xlsm: 'sheet' },
}

export function nameOf(file: Pick<FilePart, 'path'>): string {
  return file.path.split('/').at(-1) ?? file.path
}

export function endingOf(file: Pick<FilePart, 'path'>): string {
  return /\.([a-z0-9]{1,8})$/i.exec(nameOf(file))?.[1]?.toLowerCase() ?? ''
}

export function kindOf(file: Pick<FilePart, 'path'>): FileKind {
  const ending = endingOf(file)
  return (Object.hasOwn(KINDS, ending) ? KINDS[ending] : undefined) ?? 'other'
}

/** Spreadsheets are opened elsewhere: what they compute is not to be guessed. */
export function canBeShown(kind: FileKind): boolean {
  return kind !== 'sheet' && kind !== 'other'
}
