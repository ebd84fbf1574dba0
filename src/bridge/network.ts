/**
 * How the bridge reaches the server: undici with an agent of its own, which waits as long as a tool works.
 *
 * Invariant: trusts the bundled and the system's authorities and those of NODE_EXTRA_CA_CERTS, and checks certificates
 * whatever NODE_TLS_REJECT_UNAUTHORIZED says. Loopback never goes through a proxy.
 */
import { getCACertificates } from 'node:tls';
import { EnvHttpProxyAgent, fetch } from 'undici';

/** Milliseconds to connect. */
const connectTimeout = 10_000;

const loopbackHosts = '127.0.0.1,localhost,[::1],::1';

/** A proxy comes from the environment, as other programs take it. Node's own fetch ends an answer after 300 s of silence. */
export function bridgeFetch(
  env: Readonly<Record<string, string | undefined>> = process.env,
): typeof globalThis.fetch {
  const ca = [...new Set([...getCACertificates('default'), ...getCACertificates('system')])];
  const tls = { ca, rejectUnauthorized: true };
  const noProxy = env['no_proxy'] ?? env['NO_PROXY'];
  const dispatcher = new EnvHttpProxyAgent({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { ...tls, timeout: connectTimeout },
    requestTls: tls,
    proxyTls: tls,
    noProxy: noProxy === undefined || noProxy === '' ? loopbackHosts : `${noProxy},${loopbackHosts}`,
  });
  // undici's types and the global ones describe the same objects under two names.
  const untyped = fetch as unknown as (input: unknown, init: object) => Promise<Response>;
  return async (input, init) => untyped(input, { ...init, dispatcher });
}
