/**
 * How the bridge reaches the server: undici with an agent of its own, which waits as long as a tool works.
 *
 * Invariant: trusts the bundled and the system's authorities, and those of NODE_EXTRA_CA_CERTS or else of the
 * broker's settings; checks certificates whatever NODE_TLS_REJECT_UNAUTHORIZED says. What the environment of the
 * entry says counts before what the broker says. Loopback never goes through a proxy.
 */
import { getCACertificates } from 'node:tls';
import { KeyturnError, reasonOf } from '../base/errors.ts';
import { fetch } from 'undici';
import { agentBy } from '../base/system/proxied-agent.ts';
import { firstSet, NoProxy, noProxyNames, proxyOf, proxyUrl } from '../base/system/proxy-variables.ts';
import { Authorities } from '../base/system/tls-trust.ts';
import type { Connection } from '../client/connection.ts';
import { isNetworkResult, type NetworkResult } from '../ipc/wire/network-messages.ts';
import { refusedByProxy } from './base/errors.ts';

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Asks the broker for what the environment leaves open. Node's own fetch ends an answer after 300 s of silence. Throws
 * the broker's refusal, and `invalid_request` for a proxy that can't be used; the fetch throws a KeyturnError where a
 * proxy refuses to connect.
 */
export async function bridgeFetch(
  broker: Pick<Connection, 'request'>,
  resource: string,
  env: Env = process.env,
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
  const dispatcher = agentBy(
    { proxy, noProxy },
    {
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: trusted.connector(),
    },
    proxy === undefined ? {} : { requestTls: trusted.all(), proxyTls: trusted.all() },
  );
  const isWithheld = isBrokers && asked.proxyCredentials === 'withheld';
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
