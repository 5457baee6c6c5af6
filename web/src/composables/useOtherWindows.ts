/** Telling the other windows of this browser that something was begun in a conversation, so that they need not wait until they look. */
import { onScopeDispose } from 'vue'

export function useOtherWindows(heard: (sessionId: string) => void) {
  const channel = new BroadcastChannel('zeno.conversations')
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (typeof data === 'string') heard(data)
  }
  onScopeDispose(() => channel.close())
  return { tell: (sessionId: string) => channel.postMessage(sessionId) }
}
