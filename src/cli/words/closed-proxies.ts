/** Proxies that serve nobody: why, and what to do. */
import type { ResultOf } from '../../ipc/protocol/methods.ts';

type Proxy = ResultOf<'status'>['proxies'][number];

interface Closed {
  /** Follows "the proxy". */
  readonly what: string;
  readonly fix: string;
}

const troubles: Partial<Record<Proxy['state'], readonly [why: string, fix: string]>> = {
  portTaken: ['another program listens there', 'End that program, or remove the proxy and add it again.'],
  failed: ['the system refused it', 'The log of the broker says more.'],
  ended: ['its process does not start', 'See that Keyturn is still installed, then: keyturn broker restart'],
};

export function closedProxies(proxies: readonly Proxy[]): Closed[] {
  return proxies.flatMap(({ name, port, state }) => {
    const [why, fix] = troubles[state] ?? [];
    return fix === undefined ? [] : [{ what: `${name} is closed: port ${port}: ${why}`, fix }];
  });
}
