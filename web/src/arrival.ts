/** The token that the printed address brings along. Taken out of the address before anything else looks at it. */
let brought: string | null = null
let told: () => void = () => undefined

function read(): boolean {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (!token) return false
  brought = token
  history.replaceState(history.state, '', location.pathname + location.search)
  return true
}

read()
// Opened where the page is open already, the address loads nothing anew. The router listens to the same event, and later.
addEventListener('popstate', () => {
  if (read()) told()
})

/** The token, once. */
export function takeToken(): string | null {
  const token = brought
  brought = null
  return token
}

/** Called when an address with a token is opened in a page that is there already. */
export function onToken(callback: () => void): void {
  told = callback
}
