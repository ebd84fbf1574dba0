/**
 * The one fetch of the daemon: undici's own, with its own agent.
 *
 * Invariant: TLS trusts the bundled and the system's authorities and the file the user named, nothing
 * less and no switch to turn verification off. Loopback never goes through a proxy.
 */
import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';
import { EnvHttpProxyAgent, fetch } from 'undici';
import type { Dispatcher } from 'undici';
import { KeyturnError } from '../errors.ts';
import type { Fetch } from '../oauth/http.ts';

export interface FetchOptions {
  readonly extraAuthorities?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

export interface DaemonFetch {
  readonly fetch: Fetch;
  close(): Promise<void>;
}

const loopbackHosts = '127.0.0.1,localhost,[::1],::1';

/** Milliseconds to connect: metadata has 10 s in all. */
const connectTimeout = 10_000;

/** Throws `file_unreadable` when the authorities' file can't be read. The rest waits for the first request. */
export function daemonFetch(options: FetchOptions): DaemonFetch {
  const extra = options.extraAuthorities === undefined ? [] : [readAuthorities(options.extraAuthorities)];
  let agent: Dispatcher | undefined;
  // Reading the system's authorities takes tens of milliseconds; start-up need not wait for it.
  const dispatcher = (): Dispatcher => (agent ??= makeAgent(extra, options));
  return {
    fetch: (url, init) => fetch(url, { ...init, dispatcher: dispatcher() }),
    async close() {
      await agent?.close();
    },
  };
}

function makeAgent(extra: string[], { httpsProxy, noProxy }: FetchOptions): Dispatcher {
  const ca = [...getCACertificates('bundled'), ...getCACertificates('system'), ...extra];
  return new EnvHttpProxyAgent({
    connect: { ca, timeout: connectTimeout },
    requestTls: { ca },
    proxyTls: { ca },
    // '' rather than absent: undici would read the environment by itself.
    httpProxy: '',
    httpsProxy: httpsProxy ?? '',
    noProxy: noProxy === undefined ? loopbackHosts : `${noProxy},${loopbackHosts}`,
  });
}

function readAuthorities(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new KeyturnError('file_unreadable', `The certificate authorities in ${file} can't be read.`, {
      hint: 'NODE_EXTRA_CA_CERTS (or the setting extraAuthorities) must name a readable PEM file.',
    });
  }
}
