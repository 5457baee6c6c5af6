/** What is being written, for each conversation; kept while the page lives, the words as long as its window, and for nobody but
 * who wrote it. */
import { computed, reactive, watch, type Ref } from 'vue'

import { useAccount } from '@/stores/account'

export type AttachmentState = 'waiting' | 'sending' | 'kept' | 'failed'

/** A file on its way into the conversation. `path` is its name there, which differs when the name was taken. */
export interface Attachment {
  key: number
  name: string
  size: number
  path: string
  /** 0 to 1. */
  progress: number
  state: AttachmentState
  problem: unknown
}

export interface Draft {
  /** Empty until there is a conversation. */
  sessionId: string
  text: string
  attachments: Attachment[]
  /** `null`: as the server says. */
  agent: string | null
  model: string | null
  manual: boolean
  /** What words are for while a run is on. */
  busy: 'steer' | 'queue'
  sending: boolean
  problem: unknown
}

const KEY = 'zeno.drafts'

interface Kept {
  owner: string
  /** The words, by conversation. */
  texts: Record<string, string>
}

const drafts = reactive(new Map<string, Draft>())
let owner = ''
watch(texts, keep)

export function emptyDraft(sessionId: string): Draft {
  return {
    sessionId,
    text: '',
    attachments: [],
    agent: null,
    model: null,
    manual: false,
    busy: 'steer',
    sending: false,
    problem: null,
  }
}

/** The draft of the conversation that is looked at. */
export function useDraft(sessionId: Ref<string>) {
  const me = useAccount().me?.id ?? ''
  if (me !== owner) takeUp(me)
  const draft = computed(() => draftOf(sessionId.value))
  return { draft }
}

function texts(): Record<string, string> {
  return Object.fromEntries([...drafts].flatMap(([id, { text }]) => (text ? [[id, text]] : [])))
}

function keep(texts: Record<string, string>): void {
  const kept: Kept = { owner, texts }
  if (!Object.keys(texts).length) return sessionStorage.removeItem(KEY)
  try {
    sessionStorage.setItem(KEY, JSON.stringify(kept))
  } catch {
    // More than a browser keeps: it stays as long as the page.
  }
}

/** Go on with what this user was writing before the page was loaded anew. */
function takeUp(user: string): void {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Kept | null
  drafts.clear()
  owner = user
  if (kept?.owner !== user) return sessionStorage.removeItem(KEY)
  for (const [id, text] of Object.entries(kept.texts)) drafts.set(id, { ...emptyDraft(id), text })
}

/** Nothing of it stays when one logs out. */
export function forgetDrafts(): void {
  drafts.clear()
}

function draftOf(sessionId: string): Draft {
  if (!drafts.has(sessionId)) drafts.set(sessionId, emptyDraft(sessionId))
  return drafts.get(sessionId) as Draft
}

/** The conversation that a draft was written for has begun. It stays where it is as well, until nobody writes there any more. */
export function moveDraft(draft: Draft, sessionId: string): void {
  draft.sessionId = sessionId
  drafts.set(sessionId, draft)
}

/** The next new conversation begins with an empty draft. */
export function leaveDraft(draft: Draft): void {
  if (drafts.get('') === draft) drafts.delete('')
}
