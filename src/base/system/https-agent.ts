/**
 * The agent of our connections to servers: which certificates it trusts, and which addresses it reaches. The broker
 * uses it for its own requests and for those that its proxies pass on.
 *
 * Invariant: TLS trusts Node's bundled authorities, the system's and those of the user's file. No option turns the
 * check off. A connection to localhost never goes through a proxy.
 */
import { getCACertificates } from 'node:tls';
import type { Dispatcher } from 'undici';
import { lookupFor, type FindAddresses, type Reach } from '../addresses.ts';
import { agentBy, undiciConnector } from './proxied-agent.ts';
import { proxyUrl } from './proxy-variables.ts';
import { Authorities } from './tls-trust.ts';

export interface AgentOptions {
  readonly reach: Reach;
  /** How names are looked up: by the system unless given. */
  readonly find?: FindAddresses | undefined;
  /** Further authorities, as PEM. */
  readonly authorities?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
  /** The environment doesn't decide which the system's authorities are. */
  readonly ignoresEnvironment?: boolean | undefined;
}

/** What the process that sends the requests adds. */
interface SenderOptions {
  /** Milliseconds until an answer begins, and between two parts of its body: undici's own unless given; 0: no limit. */
  readonly headersTimeout?: number;
  readonly bodyTimeout?: number;
}

export function makeAgent(options: AgentOptions, times: SenderOptions = {}): Dispatcher {
  const { reach, find, authorities, httpsProxy, noProxy, ignoresEnvironment = false } = options;
  if (ignoresEnvironment) ignoreOpensslVariables();
  const further = authorities === undefined ? [] : [authorities];
  const trusted = new Authorities([...getCACertificates('bundled'), ...further]);
  // A proxy resolves names itself, so `lookup` can't check addresses there.
  const parts = { ...times, connect: undiciConnector(trusted, lookupFor(reach, find)) };
  const proxy = httpsProxy === undefined ? undefined : proxyUrl(httpsProxy);
  if (proxy === undefined) return agentBy({ proxy, noProxy }, parts);
  return agentBy({ proxy, noProxy }, parts, { requestTls: trusted.all(), proxyTls: trusted.all() });
}

/** OpenSSL's variables. They make any file count as the system's authorities. */
const opensslVariables = ['SSL_CERT_FILE', 'SSL_CERT_DIR'] as const;

export function ignoreOpensslVariables(): void {
  for (const name of opensslVariables) Reflect.deleteProperty(process.env, name);
}
