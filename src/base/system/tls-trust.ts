/**
 * Which authorities our TLS connections trust: those of the broker, of its proxies and of the bridge.
 *
 * Invariant: a certificate is always checked, whatever NODE_TLS_REJECT_UNAUTHORIZED says.
 */
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { systemCode } from '../system-error.ts';
import { certificateFault } from './connection-faults.ts';

/** Milliseconds for each attempt to connect: metadata has 10 s in all. */
export const connectTimeout = 10_000;

/** For connections. Without `secureContext` Node's default authorities count. */
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
const trustingDefault: TlsOptions = {
  // Explicit, because otherwise NODE_TLS_REJECT_UNAUTHORIZED=0 turns verification off.
  rejectUnauthorized: true,
  maxCachedSessions: 0,
};

/**
 * Trusts these authorities (PEM) and no others. Makes one context for all connections: with `ca`, each connection
 * would parse hundreds of certificates again, which takes tens of milliseconds.
 */
function trusting(authorities: readonly string[]): TlsOptions {
  return { ...trustingDefault, secureContext: createSecureContext({ ca: [...new Set(authorities)] }) };
}

/** Connects to a target: `done` gets a socket, or why there is none. */
export type Connector<Target, Socket> = (
  target: Target,
  done: (error: Error | null, socket: Socket | null) => void,
) => void;

/** The authorities that certify servers: those at hand, and the system's. */
export class Authorities {
  readonly #atHand: readonly string[] | undefined;
  #all: TlsOptions | undefined;

  /** `atHand`: all but the system's, as PEM; Node's default unless given. */
  constructor(atHand?: readonly string[]) {
    this.#atHand = atHand;
  }

  all(): TlsOptions {
    this.#all ??= trusting([
      ...(this.#atHand ?? getCACertificates('default')),
      ...getCACertificates('system'),
    ]);
    return this.#all;
  }

  /**
   * Connects by the authorities at hand, and by all of them if no chain of the certificate leads to one of those: few
   * servers need the system's, which take 70 ms to read. What is trusted is the same. Nothing was sent before.
   */
  connector<Target, Socket>(
    connectBy: (tls: TlsOptions) => Connector<Target, Socket>,
  ): Connector<Target, Socket> {
    const byAtHand = connectBy(this.#atHand ? trusting(this.#atHand) : trustingDefault);
    let connect = byAtHand;
    return (target, done) => {
      const chosen = connect;
      chosen(target, (fault, socket) => {
        if (!fault || chosen !== byAtHand || !isOfChain(fault)) return done(fault, socket);
        if (connect === byAtHand) connect = connectBy(this.all());
        connect(target, done);
      });
    };
  }
}

/** Node compares the name only after it has found an authority. */
function isOfChain(error: Error): boolean {
  const code = systemCode(error);
  return certificateFault(code) !== undefined && code !== 'ERR_TLS_CERT_ALTNAME_INVALID';
}
