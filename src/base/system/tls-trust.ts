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
import { handOver } from './http-parser.ts';

/** Milliseconds for each attempt to connect: metadata has 10 s in all. */
const connectTimeout = 10_000;

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

/** Which authorities vouch for a server: the first ones, and then all of them. */
export class Trust {
  readonly #first: () => TlsOptions;
  readonly #besidesSystem: () => readonly string[];
  #all: TlsOptions | undefined;

  /** `first`: authorities that are at hand. `besidesSystem`: all but the system's, as PEM. */
  constructor(first: () => TlsOptions, besidesSystem: () => readonly string[]) {
    this.#first = first;
    this.#besidesSystem = besidesSystem;
  }

  all(): TlsOptions {
    this.#all ??= trusting([...this.#besidesSystem(), ...getCACertificates('system')]);
    return this.#all;
  }

  /**
   * Connects by the first authorities, and by all where these find a fault: reading the system's takes 70 ms, and few
   * servers need them. What is trusted is the same. Nothing was sent before.
   *
   * Keeps no TLS session: one connector serves every server of its agent, undici keeps sessions by host name alone, and
   * Node checks no certificate anew when a session goes on. So a server would answer for another one of its name.
   */
  connector(lookup?: LookupFunction): buildConnector.connector {
    const connectBy = (tls: TlsOptions): buildConnector.connector =>
      buildConnector({
        ...tls,
        maxCachedSessions: 0,
        timeout: connectTimeout,
        ...(lookup ? { lookup } : {}),
      });
    const byFirst = connectBy(this.#first());
    let connect = byFirst;
    return (target, callback) => {
      const chosen = connect;
      chosen(target, (...[fault, socket]: Parameters<buildConnector.Callback>) => {
        if (!fault) return handOver(() => callback(null, socket));
        if (chosen !== byFirst || !isOfCertificate(fault)) return callback(fault, null);
        if (connect === byFirst) connect = connectBy(this.all());
        connect(target, (...[error, other]: Parameters<buildConnector.Callback>) => {
          if (!error) return handOver(() => callback(null, other));
          // A second attempt that didn't get as far as the certificate has nothing new to say.
          callback(isOfCertificate(error) ? error : fault, null);
        });
      });
    };
  }
}

const isOfCertificate = (error: unknown): boolean => certificateFault(systemCode(error)) !== undefined;
