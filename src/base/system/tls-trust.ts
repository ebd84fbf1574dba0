/**
 * Which authorities our TLS connections trust, and which hosts are reached without a proxy: the same for the broker,
 * its proxies and the bridge.
 *
 * Invariant: a certificate is always checked, whatever NODE_TLS_REJECT_UNAUTHORIZED says. A connection to loopback
 * never goes through a proxy.
 */
import type { LookupFunction } from 'node:net';
import { createSecureContext, getCACertificates } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { systemCode } from '../system-error.ts';
import { certificateFault } from './connection-faults.ts';
import { optimizingParserLater } from './http-parser.ts';

/** Milliseconds for each attempt to connect: metadata has 10 s in all. */
const connectTimeout = 10_000;

const loopbackHosts = '127.0.0.1,localhost,[::1],::1';

/** The hosts that are reached without a proxy, as a list in the form of NO_PROXY. */
export function withoutProxy(noProxy: string | undefined): string {
  return noProxy === undefined || noProxy === '' ? loopbackHosts : `${noProxy},${loopbackHosts}`;
}

/** For undici's connectors. Without `secureContext` Node's default authorities count. */
export interface TlsOptions {
  readonly secureContext?: SecureContext;
  readonly rejectUnauthorized: true;
  /**
   * A connector serves every server of its agent, and undici keeps TLS sessions by host name alone. Node checks no
   * certificate when a session is resumed, so another server of the same name could answer unchecked.
   */
  readonly maxCachedSessions: 0;
}

/** Node's own default: its bundled authorities, and those of NODE_EXTRA_CA_CERTS. */
export const trustingDefault: TlsOptions = {
  // Explicit, because otherwise NODE_TLS_REJECT_UNAUTHORIZED=0 turns verification off.
  rejectUnauthorized: true,
  maxCachedSessions: 0,
};

/**
 * Trusts these authorities (PEM) and no others. Makes one context for all connections: with `ca`, each connection
 * would parse hundreds of certificates again, which takes tens of milliseconds.
 */
export function trusting(authorities: readonly string[]): TlsOptions {
  return { ...trustingDefault, secureContext: createSecureContext({ ca: [...new Set(authorities)] }) };
}

/** Which authorities vouch for a server: the first ones, and then all of them. */
export class Trust {
  readonly #first: TlsOptions;
  readonly #besidesSystem: () => readonly string[];
  #all: TlsOptions | undefined;

  /** `first`: authorities that are at hand. `besidesSystem`: all but the system's, as PEM. */
  constructor(first: TlsOptions, besidesSystem: () => readonly string[]) {
    this.#first = first;
    this.#besidesSystem = besidesSystem;
  }

  all(): TlsOptions {
    this.#all ??= trusting([...this.#besidesSystem(), ...getCACertificates('system')]);
    return this.#all;
  }

  /**
   * Connects by the first authorities, and by all of them if the first attempt finds a fault in the certificate: few
   * servers need the system's, which take 70 ms to read. What is trusted is the same. Nothing was sent before.
   */
  connector(lookup?: LookupFunction): buildConnector.connector {
    const connectBy = (tls: TlsOptions): buildConnector.connector =>
      buildConnector({ ...tls, timeout: connectTimeout, ...(lookup ? { lookup } : {}) });
    const byFirst = connectBy(this.#first);
    let connect = byFirst;
    return (target, callback) => {
      const attempt = (by: buildConnector.connector, failed: (error: Error) => void): void =>
        by(target, (...[error, socket]: Parameters<buildConnector.Callback>) =>
          error ? failed(error) : optimizingParserLater(() => callback(null, socket)),
        );
      const chosen = connect;
      attempt(chosen, (fault) => {
        if (chosen !== byFirst || !isOfCertificate(fault)) return callback(fault, null);
        if (connect === byFirst) connect = connectBy(this.all());
        // If the second attempt doesn't reach the certificate, the first one's fault says more.
        attempt(connect, (error) => callback(isOfCertificate(error) ? error : fault, null));
      });
    };
  }
}

const isOfCertificate = (error: Error): boolean => certificateFault(systemCode(error)) !== undefined;
