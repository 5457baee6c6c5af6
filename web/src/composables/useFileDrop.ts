/** Files that are dragged onto a part of the page. */
import { ref } from 'vue'

const brings = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false

/** Files that miss such a part are not taken: the browser would leave the page to show them. */
export function refuseFiles(): void {
  const refuse = (event: DragEvent) => {
    if (event.defaultPrevented || !event.dataTransfer || !brings(event)) return
    event.preventDefault()
    event.dataTransfer.dropEffect = 'none'
  }
  window.addEventListener('dragover', refuse)
  window.addEventListener('drop', refuse)
}

export function useFileDrop(dropped: (files: File[]) => void) {
  const over = ref(false)
  let depth = 0

  const stop = () => {
    depth = 0
    over.value = false
  }
  const listeners = {
    dragenter: (event: DragEvent) => {
      if (!brings(event)) return
      depth += 1
      over.value = true
    },
    dragover: (event: DragEvent) => {
      if (brings(event)) event.preventDefault()
    },
    dragleave: (event: DragEvent) => {
      // Entering a child is told as leaving its parent, too.
      if (brings(event) && (depth -= 1) <= 0) stop()
    },
    drop: (event: DragEvent) => {
      stop()
      if (!brings(event)) return
      event.preventDefault()
      const files = [...(event.dataTransfer?.files ?? [])]
      if (files.length) dropped(files)
    },
  }
  return { over, listeners }
}
