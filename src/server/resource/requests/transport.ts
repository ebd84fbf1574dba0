/**
 * Over what a request came: whether it was encrypted, and from which address.
 *
 * Invariant: X-Forwarded-* and Forwarded (RFC 7239) are read only on a connection of a trusted proxy, and ignored from
 * anybody else. Plain http is served only if the resource itself is a loopback URL, and only to this machine, or
 * to an address that isn't known.
 */
import { isThisMachine } from '../../../base/text/this-machine.ts';
import { isAmong, limitKey, plainAddress } from '../base/address.ts';
import type { IncomingRequest } from '../base/incoming.ts';
import { Refusal } from '../base/refusal.ts';
import type { Settings } from '../options.ts';

/** Of a connection of Node. The other end of a Unix socket, such as a proxy in front, is on this machine. */
export function peerOf(socket: { readonly remoteAddress?: string | undefined }): string | undefined {
  const server = 'server' in socket ? socket.server : undefined;
  const { address } = typeof server === 'object' && server !== null && 'address' in server ? server : {};
  const isUnix = typeof address === 'function' && typeof Reflect.apply(address, server, []) === 'string';
  return socket.remoteAddress ?? (isUnix ? '127.0.0.1' : undefined);
}

/** The address of the client, if it is known. Throws a refusal for plain http. */
export function checkTransport(
  { headers, connection }: IncomingRequest,
  { isLoopbackHttp, trustedProxies }: Pick<Settings, 'isLoopbackHttp' | 'trustedProxies'>,
): string | undefined {
  const { address: peer, isEncrypted } = connection;
  const isProxied = peer !== undefined && isAmong(peer, trustedProxies);
  const address = peer && clientAddress((name) => headers.get(name), peer, trustedProxies);
  // MCP, Communication Security: all endpoints MUST be served over HTTPS.
  if (isProxied ? forwardedProto(headers, isEncrypted) : isEncrypted) return address;
  if (isLoopbackHttp && (address === undefined || isThisMachine(address))) return address;
  throw new Refusal('insecure_transport', {
    problem: 'no trusted proxy said https (trustedProxies, X-Forwarded-Proto)',
  });
}

/** The first value is of the client's own connection, which its proxy saw; those behind it often speak plain http. */
function forwardedProto(headers: Headers, isEncrypted: boolean): boolean {
  const protos =
    headers.get('x-forwarded-proto')?.split(',') ?? forwardedValues(headers.get('forwarded'), 'proto');
  const [first] = protos.map((proto) => proto.trim().toLowerCase()).filter(Boolean);
  return first === undefined ? isEncrypted : first === 'https';
}

/** RFC 7239 §4: the values of one parameter, from the client on. A quoted value may hold commas and semicolons. */
function forwardedValues(header: string | null | undefined, parameter: string): string[] {
  const pairs = (header ?? '').matchAll(/(?<![\w-])([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*))/g);
  return [...pairs].flatMap(([, name = '', inQuotes, plain = '']) =>
    name.toLowerCase() === parameter ? [inQuotes ?? plain] : [],
  );
}

/**
 * Of whom a request is, by X-Forwarded-For, or the same from Forwarded. `peer`: who is connected; `trusted`: addresses
 * and ranges of proxies.
 */
export function clientAddress(
  headerOf: HeaderOf,
  peer: string,
  trusted: readonly string[],
): string | undefined {
  let address = plainAddress(peer);
  if (!isAmong(peer, trusted)) return address;
  const entries = headerOf('x-forwarded-for') ?? forwardedValues(headerOf('forwarded'), 'for').join(',');
  // From the right: each trusted proxy names the one before it. What stands further left anybody may have written.
  for (const entry of entries.split(',').toReversed()) {
    const before = plainAddress(withoutPort(entry.trim()));
    if (before === undefined) break;
    address = before;
    if (!isAmong(before, trusted)) break;
  }
  return address;
}

/** The value of a request's header. */
type HeaderOf = (name: string) => string | null | undefined;

/**
 * Whom a limit counts. What a page in a browser sends by itself, such as a picture's or a script's request, is counted
 * apart: a page that somebody opened must not use up what the programs and the tabs at that address may send.
 */
export function callerOf(address: string, headerOf: HeaderOf): string {
  return `${limitKey(address)}${isOfPage(headerOf) ? ' (pages)' : ''}`;
}

/** Fetch Metadata says it, and Origin where the browser is older. Programs send neither. */
function isOfPage(headerOf: HeaderOf): boolean {
  const isTab = headerOf('sec-fetch-mode') === 'navigate' && headerOf('sec-fetch-dest') === 'document';
  return headerOf('sec-fetch-site') ? !isTab : Boolean(headerOf('origin'));
}

/** Some proxies write the port, too; RFC 7239 §6: an IPv6 address has brackets then. */
function withoutPort(entry: string): string {
  return entry.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
}
