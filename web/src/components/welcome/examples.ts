/** The examples of the welcome: what is said, and which file of the page's own goes with it. */

export const EXAMPLES = ['report', 'question', 'file', 'trend', 'sum', 'code', 'note', 'abilities'] as const
export type Example = (typeof EXAMPLES)[number]

interface Attachment {
  /** Where it is, by language. */
  address: Record<string, string>
  /** Its name in the conversation; left out where the texts name it. */
  name?: string
  type: string
}

const SALES: Attachment = { address: { '': '/examples/sales.csv' }, name: 'sales.csv', type: 'text/csv' }
const NOTES: Attachment = {
  address: { '': '/examples/meeting-notes.md', 'zh-CN': '/examples/meeting-notes.zh-CN.md' },
  type: 'text/markdown',
}

export const ATTACHED: Partial<Record<Example, Attachment>> = { report: SALES, question: SALES, trend: SALES, file: NOTES }

/** The file of an example; it comes from the same server as the page. */
export async function fetched(attachment: Attachment, name: string, language: string): Promise<File> {
  const address = attachment.address[language] ?? attachment.address[''] ?? ''
  const answer = await fetch(address)
  // A server that knows no such file may answer with the page itself.
  if (!answer.ok || answer.headers.get('content-type')?.startsWith('text/html')) throw new Error(address)
  return new File([await answer.arrayBuffer()], name, { type: attachment.type })
}
