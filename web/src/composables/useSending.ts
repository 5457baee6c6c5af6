/** Giving a conversation tasks: once each, however often one clicks, and with nothing lost when it fails. */
import { api, ProblemError } from '@/api/client'
import type { RunSummary, Session, Started } from '@/api/types'
import type { LiveRun } from '@/run/live'
import { usePreferences } from '@/stores/preferences'

import { moveDraft, type Draft } from './useDrafts'
import { useUploads } from './useUploads'

/** A task as it is sent. */
export interface Order {
  text: string
  files: string[]
}

interface Wishes {
  /** A conversation was begun for a draft, before there is a run in it. */
  began: (draft: Draft, sessionId: string) => void
  /** A run was begun, or the one that is on has the words. */
  started: (draft: Draft, started: Started, summary: RunSummary) => void
  /** Whether a run of the conversation is on. */
  busy: () => boolean
}

export function useSending({ began, started, busy }: Wishes) {
  const preferences = usePreferences()
  const beginning = new WeakMap<Draft, Promise<string>>()
  /** Names of requests that got no answer: sent again, they make no second run. */
  const names = new Map<string, string>()
  const uploads = useUploads(begin)

  /** The id of the draft's conversation; asked for twice, one is begun all the same. */
  function begin(draft: Draft): Promise<string> {
    if (draft.sessionId) return Promise.resolve(draft.sessionId)
    const made = beginning.get(draft) ?? newSession(draft)
    beginning.set(draft, made)
    return made
  }

  async function newSession(draft: Draft): Promise<string> {
    try {
      const { id } = await api.post<Session>('/sessions', {})
      moveDraft(draft, id)
      began(draft, id)
      return id
    } finally {
      beginning.delete(draft)
    }
  }

  async function give(draft: Draft, order: Order, steer: boolean): Promise<void> {
    const body = {
      text: order.text,
      agent: draft.agent,
      model: draft.model,
      mode: draft.manual ? 'manual' : null,
      language: preferences.language,
    }
    const within = order.files.length ? await begin(draft) : draft.sessionId
    const answer = within
      ? await once(`/sessions/${within}/runs`, {
          ...body,
          files: order.files,
          when_busy: busy() && steer ? 'steer' : 'queue',
        })
      : await once('/runs', body)
    if (!draft.sessionId) moveDraft(draft, answer.session_id)
    started(draft, answer, summaryOf(answer, order, draft))
  }

  async function once(path: string, body: object): Promise<Started> {
    const wish = `${path} ${JSON.stringify(body)}`
    const name = names.get(wish) ?? uniqueName()
    names.set(wish, name)
    try {
      const answer = await api.post<Started>(path, body, { headers: { 'idempotency-key': name } })
      names.delete(wish)
      return answer
    } catch (error) {
      // Refused is refused: only a request without an answer may have made a run.
      if (error instanceof ProblemError && error.status >= 400 && error.status < 500) names.delete(wish)
      throw error
    }
  }

  /** Do it, and keep what went wrong with the draft. Whether it went well. */
  async function attempt(draft: Draft, act: () => Promise<void>): Promise<boolean> {
    if (draft.sending) return false
    draft.sending = true
    draft.problem = null
    try {
      await act()
      return true
    } catch (error) {
      draft.problem = error
      return false
    } finally {
      draft.sending = false
    }
  }

  /** Send what is written. */
  function send(draft: Draft): Promise<boolean> {
    const text = draft.text.trim()
    if (!text) return Promise.resolve(false)
    return attempt(draft, async () => {
      if (!(await uploads.settled(draft))) throw new UnsettledFiles()
      const files = draft.attachments.map((attachment) => attachment.path)
      await give(draft, { text, files }, draft.busy === 'steer')
      draft.text = ''
      draft.attachments = []
    })
  }

  /** Send something else than what is written, which stays: a task again, or another wording of it. */
  function resend(draft: Draft, order: Order): Promise<boolean> {
    return attempt(draft, () => give(draft, order, false))
  }

  /** Send a task that comes with files of its own; what is written stays. */
  async function bring(draft: Draft, text: string, files: readonly File[]): Promise<boolean> {
    if (draft.sending) return false
    const brought = uploads.attach(draft, files)
    const mine = new Set(brought.map((attachment) => attachment.key))
    const sent = await attempt(draft, async () => {
      await uploads.settled(draft)
      if (!brought.every((attachment) => attachment.state === 'kept')) throw new UnsettledFiles()
      await give(draft, { text, files: brought.map((attachment) => attachment.path) }, false)
      draft.attachments = draft.attachments.filter((attachment) => !mine.has(attachment.key))
    })
    // To be sent again from there.
    if (!sent && !draft.text.trim()) draft.text = text
    return sent
  }

  async function stop(draft: Draft, run: LiveRun): Promise<void> {
    draft.problem = null
    run.stopping.value = true
    try {
      await api.post(`/runs/${run.id}/commands`, { type: 'cancel' })
    } catch (error) {
      run.stopping.value = false
      draft.problem = error
    }
  }
  return { send, resend, bring, stop, ...uploads }
}

/** A file that is to go along has not arrived. */
export class UnsettledFiles extends Error {}

function summaryOf(answer: Started, order: Order, draft: Draft): RunSummary {
  return {
    id: answer.run_id,
    session_id: answer.session_id,
    task: order.text,
    agent: draft.agent ?? '',
    model: draft.model ?? '',
    created_at: Date.now(),
    ended_at: null,
    ending: null,
  }
}

/** Random, also where the page came over plain HTTP and browsers offer no `randomUUID`. */
function uniqueName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
