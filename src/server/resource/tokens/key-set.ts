/**
 * The public keys of one issuer: fetched when they are needed, renewed when they are old or a key is unknown, kept
 * for a while when the issuer can't be reached.
 *
 * Invariant: a key comes only from the issuer's own key set, and never from a token. Whatever strangers send, the set
 * is fetched at most once in 30 seconds, or once in five seconds while that fails. When the last good keys
 * should have been renewed more than `outageSeconds` ago, nothing passes.
 */
import { createLocalJWKSet, errors, type CryptoKey, type JWSHeaderParameters } from 'jose';
import { z } from 'zod';
import type { Http } from '../../../oauth/base/http.ts';
import { fetchMetadata } from '../../../oauth/discovery/metadata-document.ts';
import { Refusal, type RefusalReason } from '../base/refusal.ts';
import { invalid, issuerMetadata, type IssuerMetadata } from './issuer-metadata.ts';
import { publicKey } from '../base/public-key.ts';
import { problemIn, type Outage } from './token.ts';

export interface KeySetSettings {
  readonly issuer: string;
  readonly http: Http;
  /** Seconds that the last good keys serve while the issuer can't be reached. */
  readonly outageSeconds: number;
  readonly onOutage: (outage: Outage) => void;
}

/** Ten minutes, in ms: while the issuer can be reached, a withdrawn key counts no longer, whatever the headers say. */
const maxAge = 10 * 60 * 1000;
/** A minute, in ms, whatever the headers say: else each request would fetch the keys. */
const minAge = 60 * 1000;

/** 30 s, in ms, between two fetches that strangers can cause: a new key serves soon enough. */
const cooldown = 30 * 1000;

/** 5 s, in ms: an issuer that is back is noticed soon. */
const pauseAfterFailure = 5000;

const keySetSchema = z.object({ keys: z.array(z.unknown()) });

type Header = JWSHeaderParameters & { alg: string };

interface Keys {
  readonly resolve: ReturnType<typeof createLocalJWKSet>;
  /** When to look again, in ms. */
  readonly freshUntil: number;
}

export class KeySet {
  readonly #settings: KeySetSettings;
  #keys: Keys | undefined;
  #metadata: IssuerMetadata | undefined;
  #fetching: Promise<void> | undefined;
  /** When the last fetch began, in ms, and whether it failed. */
  #tried = Number.NEGATIVE_INFINITY;
  #failed = false;

  constructor(settings: KeySetSettings) {
    this.#settings = settings;
  }

  /**
   * Resolves if `isSigned` is true of a key that the header may mean. Throws a refusal: token_unknown_key,
   * token_wrong_signature, keys_unavailable.
   */
  async prove(header: Header, isSigned: (key: CryptoKey) => Promise<boolean>): Promise<void> {
    let problem = await problemOf(await this.#current(), header, isSigned);
    // The issuer may have a new key since, even by the same name.
    if (problem !== undefined && this.#mayFetch()) {
      await this.#fetch();
      if (this.#keys !== undefined) problem = await problemOf(this.#keys, header, isSigned);
    }
    if (problem === undefined) return;
    // Where the issuer can't be asked, nobody can say that there is no such key.
    throw problem === 'token_unknown_key' && this.#failed ? this.#unavailable() : new Refusal(problem);
  }

  async #current(): Promise<Keys> {
    const now = this.#settings.http.now();
    if ((this.#keys === undefined || this.#keys.freshUntil <= now) && this.#mayFetch()) await this.#fetch();
    const keys = this.#keys;
    if (keys === undefined || keys.freshUntil + this.#settings.outageSeconds * 1000 <= now) {
      throw this.#unavailable();
    }
    return keys;
  }

  /** Also true while a fetch is under way, which the next one joins. */
  #mayFetch(): boolean {
    return this.#fetching !== undefined || this.#wait() <= 0;
  }

  /** Milliseconds until the next fetch is allowed. */
  #wait(): number {
    const pause = this.#failed ? pauseAfterFailure : cooldown;
    return this.#tried + pause - this.#settings.http.now();
  }

  #unavailable(): Refusal {
    return new Refusal('keys_unavailable', {
      retryAfterSeconds: Math.max(1, Math.ceil(this.#wait() / 1000)),
    });
  }

  /** One at a time, for all who wait. Never rejects. */
  async #fetch(): Promise<void> {
    this.#fetching ??= this.#load().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #load(): Promise<void> {
    const { issuer, http, onOutage } = this.#settings;
    this.#tried = http.now();
    try {
      if (this.#metadata === undefined || this.#metadata.freshUntil <= http.now()) {
        this.#metadata = await issuerMetadata(issuer, http);
      }
      this.#keys = await fetchKeys(this.#metadata, http);
      this.#failed = false;
    } catch (error) {
      this.#failed = true;
      const isBridged = this.#keys !== undefined;
      onOutage({ kind: 'outage', issuer, what: 'keys', problem: problemIn(error), isBridged });
    }
  }
}

async function fetchKeys({ jwksUri }: IssuerMetadata, http: Http): Promise<Keys> {
  if (jwksUri === undefined) throw invalid('names no key set');
  const answer = await fetchMetadata(jwksUri, http, 'authorization_server_unreachable', {});
  if (answer.kind !== 'found') throw invalid('is missing', 'The key set');
  const parsedSet = keySetSchema.safeParse(answer.json);
  if (!parsedSet.success) throw invalid('has a wrong form', 'The key set');
  const usable = parsedSet.data.keys.flatMap((key) => {
    const parsed = publicKey.safeParse(key);
    return parsed.success ? [parsed.data] : [];
  });
  const at = http.now();
  const freshUntil = Math.min(Math.max(answer.freshUntil, at + minAge), at + maxAge);
  return { resolve: createLocalJWKSet({ keys: usable }), freshUntil };
}

/** Undefined: one of the keys that the header may mean signed. */
async function problemOf(
  keys: Keys,
  header: Header,
  isSigned: (key: CryptoKey) => Promise<boolean>,
): Promise<RefusalReason | undefined> {
  let problem: RefusalReason = 'token_unknown_key';
  for await (const key of candidates(keys, header)) {
    if (await isSigned(key)) return undefined;
    problem = 'token_wrong_signature';
  }
  return problem;
}

/** RFC 7515 §4.1.4: a header may name no key, and RFC 7517 §4.5 lets two keys have one name. */
async function* candidates(keys: Keys, header: Header): AsyncGenerator<CryptoKey> {
  try {
    yield await keys.resolve(header);
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) yield* error;
    // A key that can't be imported is none.
    else if (
      !(error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException)
    )
      throw error;
  }
}
