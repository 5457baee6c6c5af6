/** Files on their way into a conversation: one after another, under names that are free, with progress. Overwrites nothing. */
import { reactive } from 'vue'

import { api, fileAddress, ProblemError } from '@/api/client'
import type { Problem, SessionFile } from '@/api/types'
import { useAccount } from '@/stores/account'

import type { Attachment, Draft } from './useDrafts'

/** Bytes of a name that the server takes. */
const LONGEST_NAME = 200
/** How many names are tried when others are quicker to take them. */
const MOST_TRIES = 20

let keys = 0

/** `begin` gives the id of the draft's conversation, which it begins when there is none. */
export function useUploads(begin: (draft: Draft) => Promise<string>) {
  const account = useAccount()
  const bytes = new Map<number, { file: File; stop: AbortController }>()
  const lines = new WeakMap<Draft, Promise<void>>()

  function attach(draft: Draft, files: readonly File[]): Attachment[] {
    const most = account.settings?.max_upload ?? Infinity
    return files.map((file) => {
      const attachment = reactive<Attachment>({
        key: (keys += 1),
        name: file.name,
        size: file.size,
        path: '',
        progress: 0,
        state: 'waiting',
        problem: null,
      })
      draft.attachments.push(attachment)
      if (file.size > most) fail(attachment, new ProblemError(413, 'upload_too_large', { most }, ''))
      else enqueue(draft, attachment, file)
      return attachment
    })
  }

  function enqueue(draft: Draft, attachment: Attachment, file: File): void {
    const stop = new AbortController()
    bytes.set(attachment.key, { file, stop })
    attachment.state = 'waiting'
    attachment.problem = null
    const before = lines.get(draft) ?? Promise.resolve()
    lines.set(
      draft,
      before.then(() => upload(draft, attachment, file, stop.signal)),
    )
  }

  async function upload(draft: Draft, attachment: Attachment, file: File, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    attachment.state = 'sending'
    try {
      const sessionId = await begin(draft)
      const { files } = await api.get<{ files: SessionFile[] }>(`/sessions/${sessionId}/files`, {}, signal)
      const taken = new Set(files.map((each) => each.path.toLowerCase()))
      const told = (progress: number) => (attachment.progress = progress)
      attachment.path = await kept(sessionId, file, taken, { signal, told, csrf: account.me?.csrf ?? '' })
      attachment.state = 'kept'
      bytes.delete(attachment.key)
    } catch (error) {
      if (!signal.aborted) fail(attachment, error)
    }
  }

  function again(draft: Draft, attachment: Attachment): void {
    const held = bytes.get(attachment.key)
    if (held) enqueue(draft, attachment, held.file)
  }

  /** Take a file out before it is sent; what arrived already is taken away again, unless a run is on that could need it. */
  function detach(draft: Draft, attachment: Attachment): void {
    bytes.get(attachment.key)?.stop.abort()
    bytes.delete(attachment.key)
    draft.attachments = draft.attachments.filter((each) => each.key !== attachment.key)
    if (attachment.state === 'kept') {
      const way = attachment.path.split('/').map(encodeURIComponent).join('/')
      void api.remove(`/sessions/${draft.sessionId}/files/${way}`).catch(() => undefined)
    }
  }

  /** Whether all files have arrived, once none is on its way any more. */
  async function settled(draft: Draft): Promise<boolean> {
    for (let line = lines.get(draft); line; line = lines.get(draft) === line ? undefined : lines.get(draft)) await line
    return draft.attachments.every((attachment) => attachment.state === 'kept')
  }
  return { attach, again, detach, settled }
}

function fail(attachment: Attachment, problem: unknown): void {
  // Whoever is logged out is told so by the next request of the usual kind.
  if (problem instanceof ProblemError && problem.status === 401) void api.get('/me').catch(() => undefined)
  attachment.state = 'failed'
  attachment.problem = problem
}

interface Sending {
  signal: AbortSignal
  told: (progress: number) => void
  csrf: string
}

/** The path under which the server keeps the file now. */
async function kept(sessionId: string, file: File, taken: Set<string>, sending: Sending): Promise<string> {
  for (let tries = 0; ; tries += 1) {
    const path = freeName(file.name, taken)
    try {
      return (await put(fileAddress(sessionId, path), file, sending)).path
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== 'file_exists' || tries >= MOST_TRIES) throw error
      taken.add(path.toLowerCase())
    }
  }
}

/** The name, as the server takes it, with a number where it is taken. `taken` holds small letters. */
export function freeName(wished: string, taken: ReadonlySet<string>): string {
  const plain = wished.replace(/[\p{Cc}\p{Cs}/\\]/gu, '_').replace(/^[.\s]+/, '') || 'file'
  const dot = plain.lastIndexOf('.')
  const ending = dot > 0 && plain.length - dot <= 12 ? plain.slice(dot) : ''
  let stem = plain.slice(0, plain.length - ending.length)
  // Room for a number is left in any case.
  while (new TextEncoder().encode(stem + ending).length > LONGEST_NAME - 8) stem = [...stem].slice(0, -1).join('')
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? stem + ending : `${stem} (${number})${ending}`
    if (!taken.has(name.toLowerCase())) return name
  }
}

/** Unlike `fetch`, a request of this kind says how far it is. */
function put(address: string, file: File, { signal, told, csrf }: Sending): Promise<SessionFile> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('PUT', address)
    request.setRequestHeader('content-type', 'application/octet-stream')
    request.setRequestHeader('x-zeno-csrf', csrf)
    request.upload.onprogress = ({ loaded, total }) => told(total ? loaded / total : 0)
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) {
        told(1)
        resolve(JSON.parse(request.responseText) as SessionFile)
      } else reject(problemOf(request))
    }
    request.onerror = () => reject(new ProblemError(0, 'server_unreachable', {}, ''))
    request.onabort = () => reject(new DOMException('', 'AbortError'))
    signal.addEventListener('abort', () => request.abort(), { once: true })
    request.send(file)
  })
}

function problemOf(request: XMLHttpRequest): ProblemError {
  try {
    const problem = JSON.parse(request.responseText) as Problem
    return new ProblemError(request.status, problem.code, problem.params, problem.detail, problem)
  } catch {
    return new ProblemError(request.status, 'server_unreachable', {}, '')
  }
}
