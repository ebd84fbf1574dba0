/**
 * Which hosts are this machine. `host`: as `URL.hostname` writes it, or an address.
 *
 * Invariant: `isThisMachine` misses none, for rules that refuse or ask; `isLoopbackHost` names only those that plain http
 * never leaves this machine for, whatever a resolver says.
 */
/** The unspecified addresses count too: a connection to one reaches this machine. */
const here =
  /^(?:(?:127|0)(?:\.\d{1,3}){3}|\[::1?\]|\[::ffff:(?:7f[0-9a-f]{2}|[0-9a-f]{1,2}):[0-9a-f]{1,4}\])$/;

/** Names below `localhost` (RFC 6761 §6.3), and those that systems give to these addresses in /etc/hosts. */
const named = /^(?:.*\.)?(?:ip6-)?(?:localhost|loopback)[46]?(?:\.localdomain[46]?)?$/;

/** Addresses that are mapped into IPv6, and dots at the end of a name, too. */
export function isThisMachine(host: string): boolean {
  const bare = host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/%.*$/, '')
    .replace(/(?<!\.)\.+$/, '');
  // The URL parser writes each address in one way.
  const hostname = URL.parse(bare.includes(':') ? `http://[${bare}]` : `http://${bare}`)?.hostname;
  return named.test(bare) || here.test(hostname ?? '');
}

/** 127.0.0.0/8, [::1] and localhost. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
