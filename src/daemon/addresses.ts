/**
 * Which addresses a server's documents may lead us to.
 *
 * Invariant: what a public server names is resolved once, here, and the connection goes to the
 * addresses that were checked; one that is not global refuses the name as a whole, so that neither a
 * hostile document nor DNS rebinding reaches this machine or its network.
 */
import { lookup } from 'node:dns';
import { lookup as resolve } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { quoted, RuleRefusal } from '../errors.ts';

/** True for an address of the public Internet: not private, shared, mapped, translated, local or reserved. */
export function isGlobal(address: string): boolean {
  // ipaddr.js calls only plain global addresses "unicast": CGNAT, ULA, 6to4, NAT64, mapped … have names of their own.
  return ipaddr.isValid(address) && ipaddr.parse(address).range() === 'unicast';
}

/** Host of a URL as the resolver takes it: an IPv6 literal without its brackets. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

/** True when the host is, or resolves to, an address that isn't global. A name that doesn't resolve is not private. */
export async function isPrivateHost(host: string): Promise<boolean> {
  if (ipaddr.isValid(host)) return !isGlobal(host);
  const addresses = await resolve(host, { all: true }).catch(() => []);
  return addresses.some(({ address }) => !isGlobal(address));
}

/** Throws `insecure_url` for a URL whose host is an address literal that isn't global: those are never looked up. */
export function refuseLocalLiteral(url: string): void {
  const host = hostOf(url);
  if (ipaddr.isValid(host) && !isGlobal(host)) throw refusal(host);
}

/** A `lookup` for sockets that refuses a name with any address that isn't global. */
export const globalLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '', 0);
    const [first] = addresses;
    if (!first || addresses.some(({ address }) => !isGlobal(address))) {
      return callback(refusal(hostname), '', 0);
    }
    return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family);
  });
};

function refusal(host: string): RuleRefusal {
  return new RuleRefusal('insecure_url', `${quoted(host)} is not an address of the public Internet.`, {
    rule: 'A public server’s documents may not lead into a private network',
    hint: 'If the protected server is meant to be private, its own name must resolve to a private address.',
  });
}
