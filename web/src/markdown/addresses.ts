/** Web addresses as a person has to see them: whole, in ASCII, with the host that will answer. Nothing is opened here. */

/** What makes an address look like another: a name before the host, or letters that are not ASCII. */
export type Doubt = 'userinfo' | 'lookalike'

export interface Address {
  kind: 'web' | 'mail'
  /** The address in ASCII: international hosts in punycode, everything else escaped. */
  href: string
  /** The host that answers, with its port; of mail the address that gets it. */
  host: string
  doubts: Doubt[]
}

const SCHEMES: Record<string, Address['kind']> = { 'http:': 'web', 'https:': 'web', 'mailto:': 'mail' }
const LONGEST = 8_000

/** An address that may be opened, `null` for everything else: no other scheme, nothing relative, no host that is none. */
export function addressOf(written: string): Address | null {
  if (written.length > LONGEST) return null
  let url: URL
  try {
    url = new URL(written)
  } catch {
    return null
  }
  const kind = SCHEMES[url.protocol]
  if (!kind || !isAscii(url.href)) return null
  if (kind === 'mail') return url.pathname ? { kind, href: url.href, host: url.pathname, doubts: [] } : null
  const doubts: Doubt[] = []
  if (url.username || url.password) doubts.push('userinfo')
  if (/(?:^|\.)xn--/.test(url.hostname)) doubts.push('lookalike')
  return { kind, href: url.href, host: url.host, doubts }
}

/** The address with its host apart. Names that stand before the host may look like one: it ends where the path begins. */
export function partsOf({ kind, href, host }: Address): { before: string; host: string; after: string } {
  const start = kind === 'mail' ? href.indexOf(':') + 1 : href.indexOf('//') + 2
  const length = href.slice(start).search(kind === 'mail' ? /[?#]/ : /[/?#]/)
  const end = length < 0 ? href.length : start + length
  return { before: href.slice(0, end - host.length), host, after: href.slice(end) }
}

/** Opens an address in a page of its own, which learns nothing of this one. */
export function openAddress(address: Address): void {
  window.open(address.href, '_blank', 'noopener,noreferrer')
}

/** `text` with the signs made visible that are none, or that turn the direction of reading: `\u{202e}`. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`)
}

function isAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}
