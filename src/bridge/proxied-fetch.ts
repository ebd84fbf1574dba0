/**
 * The bridge's fetch through a proxy: undici's. Few need it, and it takes more memory than all the rest of the bridge, so
 * nothing loads it otherwise.
 *
 * Invariant: waits without end for an answer, and for each part of it.
 */
import { fetch } from 'undici';
import { agentBy, undiciConnector } from '../base/system/proxied-agent.ts';
import type { Authorities } from '../base/system/tls-trust.ts';
import { refusedByProxy } from './base/errors.ts';

/** `isWithheld`: the broker knows the proxy's password and hands it out to no app. */
export function proxiedFetch(
  by: Readonly<Record<'proxy' | 'noProxy', string | undefined>>,
  trusted: Authorities,
  isWithheld: boolean,
): typeof globalThis.fetch {
  const endless = { headersTimeout: 0, bodyTimeout: 0, connect: undiciConnector(trusted) };
  const dispatcher = agentBy(by, endless, { requestTls: trusted.all(), proxyTls: trusted.all() });
  // undici's types and the global ones describe the same objects under two names.
  const untyped = fetch as unknown as (input: unknown, init: object) => Promise<Response>;
  return async (input, init) => {
    try {
      return await untyped(input, { ...init, dispatcher });
    } catch (error) {
      throw refusedByProxy(error, isWithheld) ?? error;
    }
  };
}
