/**
 * What a connection of ours to a server trusts, and how far it goes: the same for the broker's own requests and for
 * those that its proxies pass on.
 *
 * Invariant: TLS trusts the bundled and the system's authorities and the file the user named, nothing less and no switch
 * to turn verification off. Loopback never goes through a proxy.
 */
import { getCACertificates } from 'node:tls';
import { EnvHttpProxyAgent } from 'undici';
import type { Dispatcher } from 'undici';
import { lookupFor } from '../addresses.ts';
import type { Reach } from '../addresses.ts';
import { connectTimeout, systemAuthorities, trusting, withoutProxy } from './tls-trust.ts';

export interface AgentOptions {
  readonly reach: Reach;
  /** Further authorities, as PEM. */
  readonly authorities?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
  /** The environment that the broker was started with doesn't name the system's authorities. */
  readonly ignoresEnvironment?: boolean | undefined;
}

/** Milliseconds that an answer may take to begin, or to go on. */
interface AnswerTimes {
  readonly headersTimeout?: number;
  readonly bodyTimeout?: number;
}

/** `times`: undici's own unless given; 0 is without an end. */
export function makeAgent(options: AgentOptions, times: AnswerTimes = {}): Dispatcher {
  const { reach, authorities, httpsProxy, noProxy, ignoresEnvironment = false } = options;
  if (ignoresEnvironment) ignoreOpensslVariables();
  const extra = authorities === undefined ? [] : [authorities];
  const tls = trusting([...getCACertificates('bundled'), ...systemAuthorities(), ...extra]);
  return new EnvHttpProxyAgent({
    ...times,
    // Through a proxy names are the proxy's to resolve, and so to guard.
    connect: { ...tls, timeout: connectTimeout, lookup: lookupFor(reach) },
    requestTls: tls,
    proxyTls: tls,
    // '' rather than absent: undici would read the environment by itself.
    httpProxy: '',
    httpsProxy: httpsProxy ?? '',
    noProxy: withoutProxy(noProxy),
  });
}

/** OpenSSL's variables, by which anybody's file passes for the system's authorities. */
const opensslVariables = ['SSL_CERT_FILE', 'SSL_CERT_DIR'] as const;

function ignoreOpensslVariables(): void {
  for (const name of opensslVariables) Reflect.deleteProperty(process.env, name);
}
