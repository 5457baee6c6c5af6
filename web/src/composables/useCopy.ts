/** Copying text, also where the page came over plain HTTP and browsers keep their clipboard from it. */
import { ref } from 'vue'

/** Milliseconds for which it is said that something was copied. */
const SAID = 2000

export function useCopy() {
  const copied = ref(false)
  let timer: ReturnType<typeof setTimeout> | undefined

  async function copy(text: string): Promise<void> {
    copied.value = await put(text)
    clearTimeout(timer)
    timer = setTimeout(() => (copied.value = false), SAID)
  }
  return { copied, copy }
}

async function put(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return byHand(text)
  }
}

function byHand(text: string): boolean {
  const focused = document.activeElement
  const field = document.createElement('textarea')
  field.value = text
  field.style.position = 'fixed'
  field.style.opacity = '0'
  document.body.append(field)
  field.select()
  try {
    return document.execCommand('copy')
  } finally {
    field.remove()
    if (focused instanceof HTMLElement) focused.focus()
  }
}
