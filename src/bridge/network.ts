/**
 * How the bridge reaches the server: directly or by a proxy. It waits as long as a tool works.
 *
 * Invariant: trusts the bundled and the system's authorities, and those of NODE_EXTRA_CA_CERTS or else of the
 * broker's settings; checks certificates whatever NODE_TLS_REJECT_UNAUTHORIZED says. What the environment of the
 * entry says counts before what the broker says. A connection to localhost never goes through a proxy.
 */
import { getCACertificates } from 'node:tls';
import { KeyturnError, reasonOf } from '../base/errors.ts';
import { firstSet, NoProxy, noProxyNames, proxyOf, proxyUrl } from '../base/system/proxy-variables.ts';
import { Authorities } from '../base/system/tls-trust.ts';
import type { Environment } from '../base/paths.ts';
import type { Connection } from '../client/connection.ts';
import { isNetworkResult, type NetworkResult } from '../ipc/wire/network-messages.ts';
import { directFetch } from './direct-fetch.ts';

/**
 * Asks the broker for what the environment leaves open. Throws
 * the broker's refusal, and `invalid_request` for a proxy that can't be used; the fetch throws a KeyturnError where a
 * proxy refuses to connect.
 */
export async function bridgeFetch(
  broker: Pick<Connection, 'request'>,
  resource: string,
  env: Environment = process.env,
): Promise<typeof globalThis.fetch> {
  const noProxyHere = firstSet(env, noProxyNames);
  const own = new NoProxy(noProxyHere).isDirect(new URL(resource)) ? undefined : proxyOf(env);
  const hasOwnAuthorities = Boolean(env['NODE_EXTRA_CA_CERTS']);
  const asked = own !== undefined && hasOwnAuthorities ? {} : await networkOf(broker, resource);
  const authorities = hasOwnAuthorities ? undefined : asked.authorities;
  const isBrokers = own === undefined && asked.httpsProxy !== undefined;
  const proxy = isBrokers ? proxyUrl(asked.httpsProxy) : own;
  const noProxy = noProxyHere ?? (isBrokers ? asked.noProxy : undefined);
  const trusted = new Authorities(
    authorities === undefined ? undefined : [...getCACertificates('default'), authorities],
  );
  if (proxy === undefined) return directFetch(trusted);
  const { proxiedFetch } = await import('./proxied-fetch.ts');
  return proxiedFetch({ proxy, noProxy }, trusted, isBrokers && asked.proxyCredentials === 'withheld');
}

/** Through a forward, the broker refuses: its network is another machine's. */
async function networkOf(broker: Pick<Connection, 'request'>, resource: string): Promise<NetworkResult> {
  try {
    const result = await broker.request('network.get', { resource });
    if (isNetworkResult(result)) return result;
  } catch (error) {
    if (reasonOf(error) === 'not_permitted') return {};
    throw error;
  }
  throw new KeyturnError('frame_invalid', "the broker's answer to network.get is malformed", {
    hint: 'Broker and client may be of different releases: update the older.',
  });
}
