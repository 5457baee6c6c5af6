/** The token that the printed address brings along. Taken out of the address before anything else looks at it. */
let brought = new URLSearchParams(location.hash.slice(1)).get('token')
if (brought) history.replaceState(null, '', location.pathname + location.search)

/** The token, once. */
export function takeToken(): string | null {
  const token = brought
  brought = null
  return token
}
