/**
 * Which hosts are this machine. `host`: as `URL.hostname` writes it, or an address.
 *
 * Invariant: `isThisMachine` misses none, for rules that refuse or ask; `isLoopbackHost` names only those that plain http
 * never leaves this machine for, whatever a resolver says.
 */
import { BlockList, isIP } from 'node:net';

const here = new BlockList();
here.addSubnet('127.0.0.0', 8, 'ipv4');
here.addAddress('::1', 'ipv6');
// The unspecified address: a connection to it reaches this machine.
here.addSubnet('0.0.0.0', 8, 'ipv4');
here.addAddress('::', 'ipv6');

/** Addresses that are mapped into IPv6, names below `localhost` and dots at the end of a name too (RFC 6761 §6.3). */
export function isThisMachine(host: string): boolean {
  const bare = host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/%.*$/, '')
    .replace(/\.+$/, '');
  const kind = isIP(bare);
  if (kind !== 0) return here.check(bare, kind === 4 ? 'ipv4' : 'ipv6');
  return bare === 'localhost' || bare.endsWith('.localhost');
}

/** 127.0.0.0/8, [::1] and localhost. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
