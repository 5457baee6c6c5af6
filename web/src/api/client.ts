/** Requests to the API of the server that this page came from. Knows the wire, and nothing of what is drawn. */
import type { Problem } from './types'

const BASE = '/api/v1'

/** The server's account of why it did not do something; `code` is stable, the catalogue has words for it. */
export class ProblemError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly params: Record<string, string | number>,
    detail: string,
    readonly problem: Problem | null = null,
  ) {
    super(detail)
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Query = Record<string, string | number | boolean | null | undefined>

interface Wish {
  query?: Query
  body?: unknown
  /** Bytes to be sent as they are. */
  file?: Blob
  headers?: Record<string, string>
  signal?: AbortSignal
}

let csrf = ''
let language = 'en-US'
let loggedOut: () => void = () => undefined

/** What goes with whatever changes something; the server says it when one logs in. */
export function useCsrf(token: string | null): void {
  csrf = token ?? ''
}

/** The language of problems, documents and questions. */
export function useLanguage(chosen: string): void {
  language = chosen
}

/** Called when the server no longer knows who is asking. */
export function onLoggedOut(callback: () => void): void {
  loggedOut = callback
}

/** The address of something below the API's root. */
export function address(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return `${path.startsWith('/api/') ? '' : BASE}${path}${text && `?${text}`}`
}

/** An answer of the server. Throws `ProblemError` when it is none of those wanted. */
export async function fetched(method: Method, path: string, wish: Wish = {}): Promise<Response> {
  const headers: Record<string, string> = { 'accept-language': language, ...wish.headers }
  if (method !== 'GET') headers['x-zeno-csrf'] = csrf
  if (wish.body !== undefined) headers['content-type'] = 'application/json'
  const init: RequestInit = { method, headers, credentials: 'same-origin', cache: 'no-store' }
  if (wish.file) init.body = wish.file
  else if (wish.body !== undefined) init.body = JSON.stringify(wish.body)
  if (wish.signal) init.signal = wish.signal
  let response: Response
  try {
    response = await fetch(address(path, wish.query), init)
  } catch (error) {
    if (wish.signal?.aborted) throw error
    throw new ProblemError(0, 'server_unreachable', {}, '')
  }
  if (!response.ok) throw await problemOf(response)
  return response
}

async function call<T>(method: Method, path: string, wish?: Wish): Promise<T> {
  const response = await fetched(method, path, wish)
  return (response.status === 204 ? undefined : await response.json()) as T
}

async function problemOf(response: Response): Promise<ProblemError> {
  try {
    const problem = (await response.json()) as Problem
    // A wrong password is refused in the same way, and ends no login.
    if (response.status === 401 && problem.code !== 'login_wrong') loggedOut()
    return new ProblemError(response.status, problem.code, problem.params, problem.detail, problem)
  } catch {
    return new ProblemError(response.status, 'server_unreachable', {}, '')
  }
}

export const api = {
  get: <T>(path: string, query: Query = {}, signal?: AbortSignal) =>
    call<T>('GET', path, signal ? { query, signal } : { query }),
  post: <T>(path: string, body?: unknown, wish: Wish = {}) => call<T>('POST', path, { ...wish, body: body ?? {} }),
  put: <T>(path: string, body: unknown) => call<T>('PUT', path, { body }),
  patch: <T>(path: string, body: unknown) => call<T>('PATCH', path, { body }),
  remove: (path: string) => call<undefined>('DELETE', path),
  upload: <T>(path: string, file: Blob) =>
    call<T>('PUT', path, { file, headers: { 'content-type': 'application/octet-stream' } }),
}

/** Where a file of a conversation is. */
export function fileAddress(sessionId: string, path: string): string {
  return address(`/sessions/${sessionId}/files/${path.split('/').map(encodeURIComponent).join('/')}`)
}
