/**
 * Addresses of hosts that strangers named, asked of the name server.
 *
 * Invariant: a look-up takes no thread of the process, and ends by itself. The system's own look-up holds one of two
 * threads until the name server answered or was given up: a stranger whose name server is silent would keep every other
 * look-up of the process waiting. The file of hosts is not read.
 */
import { Resolver, type LookupAddress } from 'node:dns';
import type { FindAddresses } from '../../../base/addresses.ts';

/** Milliseconds until the name server is asked again, and how often it is. A user waits for the page. */
const patience = { timeout: 1000, tries: 2 } as const;

export interface NameServer {
  readonly find: FindAddresses;
  /** Ends every look-up that is under way. */
  close(): void;
}

export function nameServer(): NameServer {
  const resolver = new Resolver(patience);
  return {
    find(hostname, _options, callback) {
      const found = new Map<4 | 6, LookupAddress[]>();
      const heard = (family: 4 | 6, error: NodeJS.ErrnoException | null, addresses: string[] = []): void => {
        found.set(
          family,
          addresses.map((address) => ({ address, family })),
        );
        if (found.size < 2) return;
        // Those of IPv4 first: a machine without IPv6 reaches them.
        const all = [...(found.get(4) ?? []), ...(found.get(6) ?? [])];
        if (all.length > 0) callback(null, all);
        else callback(error ?? new Error('the name has no address'), []);
      };
      resolver.resolve4(hostname, (error, addresses) => heard(4, error, addresses));
      resolver.resolve6(hostname, (error, addresses) => heard(6, error, addresses));
    },
    close: () => resolver.cancel(),
  };
}
