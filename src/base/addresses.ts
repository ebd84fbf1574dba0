/**
 * Which addresses a request may reach. Servers and their documents name further URLs, and a hostile one could name a
 * host of the user's private network.
 *
 * Invariant: a request reaches an address that isn't public only if the user typed this very address or confirmed this
 * host, or if the user typed a host of this machine and the address is this machine's too. A name that the user typed
 * isn't enough, because its resolver decides where it leads. For each connection a name is resolved once, every address
 * of the answer is checked, and the connection goes to one of them, so a later answer changes nothing. Where an HTTPS
 * proxy resolves the names, only the spelling of the host is checked.
 */
import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { quoted, RuleRefusal, shellWord } from './errors.ts';
import { isThisMachine } from './text/this-machine.ts';

/** Where one request may go: to the public Internet, to this machine, or wherever its host is. */
export type Reach = 'public' | 'thisMachine' | 'anywhere';

/** What the user said about private hosts. */
export interface Trust {
  /** The URL that the user typed, or allowed on a card. */
  readonly endpoint: string;
  /** True if the user confirmed that the host of this URL may have a private address. */
  readonly isConfirmed: (url: string) => boolean;
}

/** IANA assigns global unicast addresses (RFC 4291 §2.4) only of those that begin with these three bits. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** True for an address of the public Internet: not private, shared, mapped, translated, local or reserved. */
export function isGlobal(address: string): boolean {
  // A zone (RFC 4007 §11) names one of this machine's links; no public address needs one.
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  // `range` says "unicast" for all that is in no special range of IANA's registries (RFC 6890), assigned or not.
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(globalUnicast);
}

/** Host of a URL as the resolver takes it: an IPv6 address without its brackets, a name without the dot at its end. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** How far a request for this URL may go. Throws `insecure_url` if the host's spelling shows that it is private. */
export function reachOf(url: string, { endpoint, isConfirmed }: Trust): Reach {
  const host = hostOf(url);
  const typed = hostOf(endpoint);
  // All loopback addresses are this machine: a user who typed one of them accepts the others.
  if (isThisMachine(host) && isThisMachine(typed)) return 'thisMachine';
  if ((isIP(host) !== 0 && host === typed) || isConfirmed(url)) return 'anywhere';
  if (isThisMachine(host) || (isIP(host) !== 0 && !isGlobal(host))) throw refusal(host);
  return 'public';
}

export type FindAddresses = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

const bySystem: FindAddresses = (hostname, options, callback) => lookup(hostname, options, callback);

/**
 * The `lookup` of a connection with this reach. The connection goes to an address that was checked here. One address
 * that isn't allowed refuses the whole name. `find`: the system's own look-up unless given.
 */
export function lookupFor(reach: Reach, find = bySystem): LookupFunction {
  const isAllowed = allowed[reach];
  return (hostname, options, callback) => {
    find(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0);
      const [first] = addresses;
      if (!first || !addresses.every(({ address }) => isAllowed(address))) {
        return callback(refusal(hostname), '', 0);
      }
      return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };
}

const allowed: Readonly<Record<Reach, (address: string) => boolean>> = {
  public: isGlobal,
  // RFC 6761 §6.3: names below localhost mean this machine, even if a resolver says otherwise.
  thisMachine: isThisMachine,
  anywhere: () => true,
};

/** Hosts that can be in a command that somebody copies: a URL's host may hold a `$` or a quote. */
const plainHost = /^[a-z0-9][a-z0-9.:_-]*$/i;

function refusal(host: string): RuleRefusal {
  const named = plainHost.test(host) ? host.replace(/\.$/, '') : 'HOST';
  return new RuleRefusal('insecure_url', `${quoted(host)} has an address that is not public.`, {
    rule: 'Only a typed address or a confirmed host may lead into a private network',
    hint:
      `If you know this host and it belongs to your own network: keyturn exception add ${shellWord(named)} private-address. ` +
      'If this network wants you to sign in first, do that in a browser instead.',
  });
}
