/**
 * Which authorities a TLS connection of ours trusts, and which hosts are reached without a proxy: the same for the
 * broker, for its proxies and for the bridge.
 *
 * Invariant: a certificate is always checked, whatever NODE_TLS_REJECT_UNAUTHORIZED says. Loopback never goes through a
 * proxy.
 */
import { createSecureContext, getCACertificates } from 'node:tls';
import type { SecureContext } from 'node:tls';

/** Milliseconds to connect: metadata has 10 s in all. */
export const connectTimeout = 10_000;

const loopbackHosts = '127.0.0.1,localhost,[::1],::1';

/** The hosts that are reached without a proxy, as NO_PROXY lists them. */
export function withoutProxy(noProxy: string | undefined): string {
  return noProxy === undefined || noProxy === '' ? loopbackHosts : `${noProxy},${loopbackHosts}`;
}

/** For `tls.connect`. `secureContext` absent: the authorities of Node's own default. */
export interface TlsOptions {
  readonly secureContext?: SecureContext;
  readonly rejectUnauthorized: true;
}

/** Node's own default: its bundled authorities, and those of NODE_EXTRA_CA_CERTS. */
export const trustingDefault: TlsOptions = { rejectUnauthorized: true };

/**
 * Trusts these authorities (PEM) and no others. Makes the context once: parsing hundreds of authorities takes tens of
 * milliseconds, for each connection if they were handed over as `ca`.
 */
export function trusting(authorities: readonly string[]): TlsOptions {
  const secureContext = createSecureContext({ ca: [...new Set(authorities)] });
  // Said in so many words: else NODE_TLS_REJECT_UNAUTHORIZED=0 would turn verification off.
  return { secureContext, rejectUnauthorized: true };
}

/** The system's authorities, as PEM. Node reads them once a process, in tens of milliseconds. */
export function systemAuthorities(): readonly string[] {
  return getCACertificates('system');
}
