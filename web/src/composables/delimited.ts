/** Text of a file as rows and columns: CSV (RFC 4180) with whichever sign separates its columns. Pure. */

const SEPARATORS = [',', ';', '\t', '|'] as const
const MOST_COLUMNS = 100
/** Characters of the first line that the separator is looked for in. */
const HEAD = 10_000

/** At most `most` rows, and whether there are more. */
export function rowsOf(text: string, most: number): { rows: string[][]; more: boolean } {
  const separator = separatorOf(text)
  const rows: string[][] = []
  let row: string[] = []
  let cell = ''
  let quoted = false
  const endRow = () => {
    row.push(cell)
    if (row.length > 1 || row[0]) rows.push(row.slice(0, MOST_COLUMNS))
    row = []
    cell = ''
  }
  for (let place = 0; place < text.length; place += 1) {
    const sign = text[place] ?? ''
    if (quoted) {
      if (sign !== '"') cell += sign
      else if (text[place + 1] === '"') {
        cell += '"'
        place += 1
      } else quoted = false
    } else if (sign === '"' && cell === '') quoted = true
    else if (sign === separator) {
      row.push(cell)
      cell = ''
    } else if (sign === '\n' || sign === '\r') {
      if (sign === '\r' && text[place + 1] === '\n') place += 1
      endRow()
      if (rows.length > most) return { rows: rows.slice(0, most), more: true }
    } else cell += sign
  }
  if (cell || row.length) endRow()
  return { rows: rows.slice(0, most), more: rows.length > most }
}

/** The sign that is found most often in the first line, outside quotes. */
function separatorOf(text: string): string {
  const head = (/^[^\r\n]*/.exec(text.slice(0, HEAD))?.[0] ?? '').replace(/"(?:[^"]|"")*"/g, '')
  const counted = SEPARATORS.map((sign) => [sign, head.split(sign).length] as const)
  return counted.reduce((best, each) => (each[1] > best[1] ? each : best))[0]
}
