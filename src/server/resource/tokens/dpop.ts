/**
 * Tokens that are bound to a key (RFC 9449): which scheme they come in, their proofs, and proofs that come twice.
 *
 * Invariant: a bound token passes only with a fresh proof of its key; a token without a key never passes as a bound
 * one. A proof passes once: when there is no room to remember it, it doesn't pass. The memory is this process's own.
 */
import { base64url, type CryptoKey } from 'jose';
import type { IncomingRequest } from '../base/incoming.ts';
import { Refusal } from '../base/refusal.ts';
import type { Credentials } from '../requests/credentials.ts';
import { checkProof, proofLifetime } from './dpop-proof.ts';
import type { VerifiedToken } from './token.ts';
import { UsedProofs } from './used-proofs.ts';

export interface DpopSettings {
  readonly isRequired: boolean;
  readonly algorithms: readonly string[];
  readonly maxAgeSeconds: number;
  /** How long a nonce of this server counts; undefined: it wants none (RFC 9449 §9). */
  readonly nonceSeconds?: number | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface PresentedToken {
  readonly request: IncomingRequest;
  readonly credentials: Credentials;
  readonly token: VerifiedToken;
  readonly tokenDigest: string;
  /** What the proof has to name. */
  readonly url: string;
}

/** Proofs that are remembered at once: more than a thousand a second, for each second that a proof can pass. */
const maxProofs = 100_000;

export class Dpop {
  readonly #settings: DpopSettings;
  readonly #used: UsedProofs;
  readonly #nonces: Nonces | undefined;

  constructor(settings: DpopSettings, max = maxProofs) {
    this.#settings = settings;
    const { nonceSeconds, maxAgeSeconds, now } = settings;
    // From the latest moment at which a proof could have been made.
    this.#used = new UsedProofs(max, proofLifetime(maxAgeSeconds) * 1000, now);
    this.#nonces = nonceSeconds === undefined ? undefined : new Nonces(nonceSeconds, now);
  }

  /** Throws a refusal. */
  async check({ request, credentials, token, tokenDigest, url }: PresentedToken): Promise<void> {
    const { keyThumbprint } = token;
    if (keyThumbprint === undefined) {
      // RFC 9449 §7.1: the scheme is for bound tokens.
      if (credentials.scheme === 'dpop' || this.#settings.isRequired) throw new Refusal('token_unbound');
      return;
    }
    // RFC 9449 §7.2: a bound token in the Bearer scheme is one without its proof.
    if (credentials.scheme !== 'dpop') throw new Refusal('token_bound');
    const header = request.headers.get('dpop');
    if (header === null) throw new Refusal('proof_unreadable');
    const { algorithms, maxAgeSeconds, now } = this.#settings;
    const { jti, nonce } = await checkProof(header.trim(), {
      method: request.method,
      url,
      tokenDigest,
      keyThumbprint,
      now: now() / 1000,
      maxAgeSeconds,
      algorithms,
    });
    if (this.#nonces && !(await this.#nonces.isOurs(nonce))) throw new Refusal('proof_needs_nonce');
    this.#useOnce(`${keyThumbprint} ${jti}`, token);
  }

  /** The header that gives the client a nonce, if this server wants one. */
  async nonceHeader(): Promise<Record<string, string>> {
    return this.#nonces ? { 'dpop-nonce': await this.#nonces.current() } : {};
  }

  /**
   * RFC 9449 §11.1. Two requests can't both pass, since nothing waits. A holder is one account at one client: a client
   * can have a key for each of its tokens, and many people can have one client.
   */
  #useOnce(proof: string, { issuer, clientId, subject }: VerifiedToken): void {
    const became = this.#used.add(proof, JSON.stringify([issuer, clientId, subject]));
    if (became === 'used') throw new Refusal('proof_replayed');
    if (became === 'no place') {
      const retryAfterSeconds = proofLifetime(this.#settings.maxAgeSeconds);
      throw new Refusal('proofs_exhausted', { retryAfterSeconds });
    }
  }
}

/** A nonce is the second in which it was made, with a MAC: this server knows its own without keeping them. */
class Nonces {
  readonly #seconds: number;
  readonly #now: () => number;
  readonly #key: Promise<CryptoKey>;
  #made: { readonly at: number; readonly nonce: string } | undefined;

  constructor(seconds: number, now: () => number) {
    this.#seconds = seconds;
    this.#now = now;
    this.#key = crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
    // Each use waits for it and gets its failure.
    this.#key.catch(() => undefined);
  }

  /** The same one for a third of its time, so that not each answer needs a MAC. */
  async current(): Promise<string> {
    const now = this.#now();
    if (this.#made && now - this.#made.at < (this.#seconds * 1000) / 3) return this.#made.nonce;
    const at = String(Math.floor(now / 1000));
    const mac = await crypto.subtle.sign('HMAC', await this.#key, new TextEncoder().encode(at));
    const nonce = `${at}.${base64url.encode(new Uint8Array(mac))}`;
    this.#made = { at: now, nonce };
    return nonce;
  }

  async isOurs(nonce: string | undefined): Promise<boolean> {
    const [, at, mac] = /^(\d{1,12})\.([\w-]{43})$/.exec(nonce ?? '') ?? [];
    if (at === undefined || mac === undefined) return false;
    const age = this.#now() / 1000 - Number(at);
    if (age < -1 || age > this.#seconds) return false;
    const bytes = new Uint8Array(base64url.decode(mac));
    return crypto.subtle.verify('HMAC', await this.#key, bytes, new TextEncoder().encode(at));
  }
}
