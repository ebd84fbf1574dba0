/**
 * How many requests one caller may send to the authorization server, and who that is.
 *
 * Invariant: whatever strangers send, memory is bounded (`RateLimiter`). A page in somebody's browser uses up nothing of
 * what the programs and the tabs at that address may send.
 */
import type { IncomingMessage } from 'node:http';
import { siteOf } from '../resource/base/address.ts';
import { BoundedMap } from '../resource/base/bounded-map.ts';
import { RateLimiter, type Limit } from '../resource/requests/rate-limit.ts';
import { callerOf, clientAddress, peerOf } from '../resource/requests/transport.ts';
import type { Settings } from './options.ts';

/**
 * Authorization requests: each is kept for a quarter of an hour, and may have a client's document fetched. An office
 * behind one address stays far below it.
 */
const authorizationLimit = { requests: 300, seconds: 300 } as const;

/** Requests for the pages of a sign-in: each may send one to the provider that people sign in at. Six make a sign-in. */
const pageLimit = { requests: 1800, seconds: 300 } as const;

/** Each site of IPv6 may have so many callers. One has 65,536 networks, and each authorization request is kept. */
const callersOfSite = 16;

/** Who sent a request. */
export interface Caller {
  /** Whom the limits count. */
  readonly key: string;
  /** The network of IPv6 that the caller's own is part of, if it has one. */
  readonly site: string | undefined;
}

/**
 * Answers the seconds until this caller may come again; undefined: now. `path`: without the issuer's own. The metadata
 * and the keys have no bound.
 */
export function limitsOf({ registrationLimit, requestLimit, now, onEvent }: Settings) {
  const limiter = (name: string, limit: Limit) =>
    siteLimiter(limit, now, (who) => {
      const problem = `rate_limited: more from ${who} than ${name} allows`;
      onEvent({ kind: 'refused', error: 'temporarily_unavailable', problem });
    });
  const authorizations = limiter('the limit of sign-ins', authorizationLimit);
  const pages = limiter('the limit of pages', pageLimit);
  const registrations = limiter('registrationLimit', registrationLimit);
  const requests = limiter('requestLimit', requestLimit);
  const limiterFor = (method: string | undefined, path: string): SiteLimiter | undefined => {
    if (/^\/auth(?:\?|$)/.test(path)) return authorizations;
    if (path.startsWith('/interaction/')) return pages;
    if (/^\/reg(?:\?|$)/.test(path)) return method === 'POST' ? registrations : undefined;
    // A browser asks with OPTIONS before each of them.
    return method !== 'OPTIONS' && /^\/(?:token|reg)[/?]|^\/token$/.test(path) ? requests : undefined;
  };
  return (method: string | undefined, path: string, caller: Caller): number | undefined =>
    limiterFor(method, path)?.(caller);
}

type SiteLimiter = (caller: Caller) => number | undefined;

/** Callers whose refusal was told, at once: some megabytes. */
const maxTold = 10_000;

/** One limit for each caller, and one for each site. `tell`: who is beyond it, once in its time. */
function siteLimiter(
  { requests, seconds }: Limit,
  now: () => number,
  tell: (who: string) => void,
): SiteLimiter {
  const told = new BoundedMap<true>(maxTold, now);
  const callers = new RateLimiter({ requests, seconds }, now);
  const sites = new RateLimiter({ requests: requests * callersOfSite, seconds }, now);
  return ({ key, site }) => {
    const own = callers.wait(key);
    const wait = own ?? (site === undefined ? undefined : sites.take(site));
    if (wait === undefined) callers.count(key);
    else {
      const who = own === undefined && site !== undefined ? site : key;
      if (!told.get(who)) {
        told.set(who, true, now() + seconds * 1000);
        tell(who);
      }
    }
    return wait;
  };
}

export function callerIn({ socket, headers }: IncomingMessage, trustedProxies: readonly string[]): Caller {
  // Node joins several headers of one name by commas.
  const headerOf = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  const address = clientAddress(headerOf, peerOf(socket) ?? '', trustedProxies) ?? '';
  return { key: callerOf(address, headerOf), site: siteOf(address) };
}
