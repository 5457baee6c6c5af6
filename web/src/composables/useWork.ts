/** One thing at a time that is asked of the server: what is going on, and what went wrong with it. */
import { ref, shallowRef } from 'vue'

export function useWork() {
  /** The name of what is going on, or empty. */
  const busy = ref('')
  const problem = shallowRef<unknown>(null)

  /** Whether it was done. */
  async function work(what: string, action: () => Promise<unknown>): Promise<boolean> {
    busy.value = what
    problem.value = null
    try {
      await action()
      return true
    } catch (error) {
      problem.value = error
      return false
    } finally {
      busy.value = ''
    }
  }
  return { busy, problem, work }
}
