/** Hands the person a file that was made on the page. */
/** Milliseconds after which browsers have taken it over. */
const TAKEN = 10_000

export function useDownload() {
  function download(name: string, type: string, parts: BlobPart[]): void {
    const address = URL.createObjectURL(new Blob(parts, { type }))
    const link = document.createElement('a')
    link.href = address
    link.download = name
    document.body.append(link)
    link.click()
    link.remove()
    setTimeout(() => URL.revokeObjectURL(address), TAKEN)
  }
  return { download }
}
