/**
 * IP addresses of those who ask: one spelling each, and lists of trusted ones.
 *
 * Invariant: never throws on what a connection or a header says. A text that is no address is in no list.
 */
import ipaddr from 'ipaddr.js';

/** One spelling; an IPv4 address that is mapped into IPv6 is that IPv4 address. Undefined: no address. */
export function plainAddress(text: string): string | undefined {
  const bare = text.replace(/%.*$/, '');
  if (!ipaddr.isValid(bare)) return undefined;
  const parsed = ipaddr.parse(bare);
  const isMapped = parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress();
  return isMapped ? parsed.toIPv4Address().toString() : parsed.toString();
}

/** Whom a limit counts: an IPv4 address, or the /64 that one IPv6 subscriber has (RFC 6177 §2). */
export function limitKey(address: string): string {
  return networkOf(address, 64) ?? plainAddress(address) ?? 'other';
}

/** The largest network that one site gets (RFC 6177 §2); undefined: the address is not one of IPv6. */
export function siteOf(address: string): string | undefined {
  return networkOf(address, 48);
}

function networkOf(address: string, bits: 48 | 64): string | undefined {
  const plain = plainAddress(address);
  const parsed = plain === undefined ? undefined : ipaddr.parse(plain);
  return parsed instanceof ipaddr.IPv6 ? `${parsed.parts.slice(0, bits / 16).join(':')}/${bits}` : undefined;
}

/** True for `192.0.2.7`, `2001:db8::7`, `192.0.2.0/24`, `2001:db8::/32`. */
export function isAddressOrRange(text: string): boolean {
  return ipaddr.isValid(text) || ipaddr.isValidCIDR(text);
}

/** True if `address` is one of these, or within one of these ranges. */
export function isAmong(address: string, list: readonly string[]): boolean {
  // Most servers name no proxy, and are asked with each request.
  const plain = list.length === 0 ? undefined : plainAddress(address);
  if (plain === undefined) return false;
  const parsed = ipaddr.parse(plain);
  return list.some((entry) => {
    if (!entry.includes('/')) return plainAddress(entry) === plain;
    const [range, bits] = ipaddr.parseCIDR(entry);
    return range.kind() === parsed.kind() && parsed.match(range, bits);
  });
}
