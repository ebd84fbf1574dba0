/**
 * How the bridge reaches the server: undici with an agent of its own, which waits as long as a tool works.
 *
 * Invariant: trusts the bundled and the system's authorities and those of NODE_EXTRA_CA_CERTS, and checks certificates
 * whatever NODE_TLS_REJECT_UNAUTHORIZED says. Loopback never goes through a proxy.
 */
import { getCACertificates } from 'node:tls';
import { buildConnector, EnvHttpProxyAgent, fetch } from 'undici';
import { certificateFault } from '../base/system/connection-faults.ts';
import {
  connectTimeout,
  systemAuthorities,
  type TlsOptions,
  trusting,
  trustingDefault,
  withoutProxy,
} from '../base/system/tls-trust.ts';
import { systemCode } from '../base/system-error.ts';

/** A proxy comes from the environment, as other programs take it. Node's own fetch ends an answer after 300 s of silence. */
export function bridgeFetch(
  env: Readonly<Record<string, string | undefined>> = process.env,
): typeof globalThis.fetch {
  const dispatcher = new EnvHttpProxyAgent({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: connecting(),
    ...(hasProxy(env) ? { requestTls: trustingAll(), proxyTls: trustingAll() } : {}),
    noProxy: withoutProxy(env['no_proxy'] ?? env['NO_PROXY']),
  });
  // undici's types and the global ones describe the same objects under two names.
  const untyped = fetch as unknown as (input: unknown, init: object) => Promise<Response>;
  return async (input, init) => untyped(input, { ...init, dispatcher });
}

function hasProxy(env: Readonly<Record<string, string | undefined>>): boolean {
  return ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'].some((name) => env[name]);
}

let all: TlsOptions | undefined;

/** Every authority that the bridge trusts. */
function trustingAll(): TlsOptions {
  all ??= trusting([...getCACertificates('default'), ...systemAuthorities()]);
  return all;
}

/**
 * Connects by Node's own authorities, and with all of them where these don't vouch for the server: reading the system's takes
 * longer than the rest of a start, and few servers need them. What is trusted is the same. Nothing was sent before.
 */
function connecting(): buildConnector.connector {
  const connectWith = (tls: TlsOptions): buildConnector.connector =>
    buildConnector({ ...tls, timeout: connectTimeout });
  const byDefault = connectWith(trustingDefault);
  let connect = byDefault;
  return (options, callback) => {
    const first = connect;
    first(options, (...[error, socket]: Parameters<buildConnector.Callback>) => {
      if (!error) return callback(null, socket);
      if (first !== byDefault || !certificateFault(systemCode(error))) return callback(error, null);
      if (connect === byDefault) connect = connectWith(trustingAll());
      connect(options, callback);
    });
  };
}
