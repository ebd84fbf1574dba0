/**
 * Which authorities our TLS connections trust, and which hosts are reached without a proxy: the same for the broker,
 * its proxies and the bridge.
 *
 * Invariant: a certificate is always checked, whatever NODE_TLS_REJECT_UNAUTHORIZED says. A connection to loopback
 * never goes through a proxy.
 */
import { createSecureContext, getCACertificates } from 'node:tls';
import type { SecureContext } from 'node:tls';

/** Milliseconds to connect: metadata has 10 s in all. */
export const connectTimeout = 10_000;

const loopbackHosts = '127.0.0.1,localhost,[::1],::1';

/** The hosts that are reached without a proxy, as a list in the form of NO_PROXY. */
export function withoutProxy(noProxy: string | undefined): string {
  return noProxy === undefined || noProxy === '' ? loopbackHosts : `${noProxy},${loopbackHosts}`;
}

/** For `tls.connect`. Without `secureContext` Node's default authorities count. */
export interface TlsOptions {
  readonly secureContext?: SecureContext;
  readonly rejectUnauthorized: true;
}

/** Node's own default: its bundled authorities, and those of NODE_EXTRA_CA_CERTS. */
export const trustingDefault: TlsOptions = { rejectUnauthorized: true };

/**
 * Trusts these authorities (PEM) and no others. Makes one context for all connections: with `ca`, each connection
 * would parse hundreds of certificates again, which takes tens of milliseconds.
 */
export function trusting(authorities: readonly string[]): TlsOptions {
  const secureContext = createSecureContext({ ca: [...new Set(authorities)] });
  // Explicit, because otherwise NODE_TLS_REJECT_UNAUTHORIZED=0 turns verification off.
  return { secureContext, rejectUnauthorized: true };
}

/** The system's authorities, as PEM. Node reads them once per process, in tens of milliseconds. */
export function systemAuthorities(): readonly string[] {
  return getCACertificates('system');
}
