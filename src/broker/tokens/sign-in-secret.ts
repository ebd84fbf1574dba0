/**
 * The vault's item of a sign-in: the refresh token, or an access token if there is no refresh token, the key that they
 * are bound to, and what is known of a refresh under way. The record of the sign-in names it (records/sign-in.ts).
 *
 * Invariants: an item never says where its tokens go. One of an unknown shape is refused and kept. If the vault refuses
 * a rotated token, it stays in memory and all callers get it, until the vault takes it. Only the holder of the sign-in's
 * turn writes (`Refresher.turns`).
 */
import { z } from 'zod';
import { quoted, reasonOf, shellWord } from '../../base/errors.ts';
import { dpopJwkSchema } from '../../oauth/client/dpop-key.ts';
import type { HomeDocument } from '../../store/document.ts';
import { MissingItem, VaultError } from '../../vault/base/trouble.ts';
import type { Vault } from '../../vault/base/vault.ts';
import type { SignIn } from '../records/sign-in.ts';

/**
 * A refresh with an unknown outcome. It is stored before the request leaves, and removed with the outcome. Unless it
 * `isUnanswered`, one that a later run finds was under way when the broker ended.
 */
const attemptSchema = z.object({
  /** At most the largest date of JavaScript. */
  startedAt: z.number().nonnegative().max(8.64e15),
  /** The broker kept running, but has no answer: the network lost it, or it could not be stored. */
  isUnanswered: z.boolean().optional(),
});

export type RefreshAttempt = z.infer<typeof attemptSchema>;

/** What may be told of an item while the vault is locked. Times are milliseconds since 1970 by the wall clock. */
const factFields = {
  attempt: attemptSchema.optional(),
  refreshedAt: z.number().optional(),
  /** When the last access token expires that may still be valid somewhere, as far as it was known then. */
  liveUntil: z.number().optional(),
};

const tokenFields = { value: z.string(), expiresAt: z.number().optional() };

export const secretSchema = z.strictObject({
  refreshToken: z.string().optional(),
  /** The key that both tokens are bound to (RFC 9449); absent for Bearer tokens. */
  dpopKey: dpopJwkSchema.optional(),
  /** Only if there is no refresh token. `expiresAt` is absent if the server stated none. */
  accessToken: z
    .strictObject({ ...tokenFields, issuedAt: z.number(), scope: z.array(z.string()) })
    .optional(),
  /** The scopes of its refresh token: an answer without `scope` means these (RFC 6749 §5.1, §6). */
  scope: z.array(z.string()),
  /** The scopes of the last narrower refresh; absent once a full refresh brought all scopes again (lost-scope.ts). */
  narrowedTo: z.array(z.string()).optional(),
  /** Their address or user name at the issuer. It is sent to that issuer only. */
  loginHint: z.string().optional(),
  /** Of a sign-in that was ended: access tokens that apps had then. They are kept only to be revoked. */
  handedOut: z.array(z.strictObject(tokenFields)).optional(),
  ...factFields,
});

export type SignInSecret = Readonly<z.infer<typeof secretSchema>>;

/** `beside`: the number of the document when it was written. An older document is refused then. */
const itemSchema = secretSchema.extend({ beside: z.int().nonnegative() });

export interface SecretFacts extends Pick<SignInSecret, keyof typeof factFields> {
  /** The vault was asked, and certainly has no such item. Only in memory. */
  readonly isMissing?: boolean | undefined;
}

export type Holder = Pick<SignIn, 'item' | 'endpoints' | 'resource'>;

export interface SecretParts {
  readonly vault: Pick<Vault, 'get' | 'set'>;
  readonly document: Pick<HomeDocument, 'number' | 'requireAsNew'>;
}

export class SignInSecrets {
  readonly #vault: SecretParts['vault'];
  readonly #document: SecretParts['document'];
  /** By item, what the vault refused to keep: newer than what it holds. */
  readonly #unsaved = new Map<string, SignInSecret>();
  /** By item, as last read or written in this run. */
  readonly #facts = new Map<string, SecretFacts>();

  constructor({ vault, document }: SecretParts) {
    this.#vault = vault;
    this.#document = document;
  }

  /** What is known of the sign-in's item without asking the vault. */
  factsOf({ item }: Pick<SignIn, 'item'>): SecretFacts {
    return (item === undefined ? undefined : this.#facts.get(item)) ?? {};
  }

  /** So that `factsOf` knows more, for an explanation. Changes nothing, and never rejects. */
  async look({ item }: Pick<SignIn, 'item'>): Promise<void> {
    if (item === undefined || this.#facts.has(item)) return;
    const found = await this.#vault
      .get(item)
      .then((text): SecretFacts => parsed(item, text))
      .catch((error: unknown): SecretFacts | undefined =>
        error instanceof MissingItem ? { isMissing: true } : undefined,
      );
    // Race: a refresh may have learned something newer.
    if (found && !this.#facts.has(item)) this.learn(item, found);
  }

  /** One that the vault refused is written first. Throws `vault_unreadable`, `file_unreadable` and as the vault. */
  async read(holder: Holder): Promise<SignInSecret> {
    const { item } = holder;
    if (item === undefined) throw noToken(holder);
    try {
      return await this.readItem(item);
    } catch (error) {
      if (!(error instanceof MissingItem)) throw error;
      this.#facts.set(item, { ...this.#facts.get(item), isMissing: true });
      throw noToken(holder);
    }
  }

  /** As `read`, of one item. Throws `MissingItem`. */
  async readItem(item: string): Promise<SignInSecret> {
    const unsaved = this.#unsaved.get(item);
    if (unsaved) {
      await this.write(item, unsaved);
      return unsaved;
    }
    const { beside, ...secret } = parsed(item, await this.#vault.get(item));
    this.#document.requireAsNew(beside);
    this.learn(item, secret);
    return secret;
  }

  /** Undefined if the item is missing or damaged; only a new sign-in helps then. Throws what the vault throws. */
  async readIfThere(holder: Holder): Promise<SignInSecret | undefined> {
    try {
      return await this.read(holder);
    } catch (error) {
      if (reasonOf(error) === 'vault_unreadable') return undefined;
      throw error;
    }
  }

  async write(item: string, secret: SignInSecret): Promise<void> {
    const beside = this.#document.number;
    await this.#vault.set(item, JSON.stringify({ ...secret, beside }));
    this.#unsaved.delete(item);
    this.learn(item, secret);
  }

  /** After a rotation the old refresh token no longer works, so the new one is valid even if the vault refuses it. */
  async rotate(item: string, secret: SignInSecret): Promise<void> {
    this.#unsaved.set(item, secret);
    this.learn(item, secret);
    await this.write(item, secret);
  }

  /** For what isn't worth a refusal: if the vault refuses it, it is written with the next use. */
  async writeIfPossible(item: string, secret: SignInSecret): Promise<void> {
    await this.rotate(item, secret).catch(() => undefined);
  }

  /** No record names these items any more. */
  forget(items: readonly string[]): void {
    for (const item of items) {
      this.#unsaved.delete(item);
      this.#facts.delete(item);
    }
  }

  /** Tries to write what the vault refused. Resolves to the items that it refused again. Never throws. */
  async flush(): Promise<readonly string[]> {
    await Promise.allSettled([...this.#unsaved].map(([item, secret]) => this.write(item, secret)));
    return [...this.#unsaved.keys()];
  }

  /** What `factsOf` says from now on. */
  learn(item: string, { attempt, refreshedAt, liveUntil, isMissing }: SecretFacts): void {
    this.#facts.set(item, { attempt, refreshedAt, liveUntil, isMissing });
  }
}

function parsed(item: string, text: string): z.infer<typeof itemSchema> {
  try {
    const found = itemSchema.safeParse(JSON.parse(text));
    if (found.success) return found.data;
  } catch {
    // The parser's error repeats a piece of the item.
  }
  throw new VaultError('damaged', `the vault's item ${quoted(item)} has an unknown shape`, {
    item,
    hint: 'It was left as it is. If a newer Keyturn wrote it, use that one; else sign in again.',
  });
}

/** It concerns this one sign-in. */
export function noToken({ endpoints, resource, item = '' }: Holder): VaultError {
  const endpoint = endpoints[0] ?? resource;
  return new VaultError('damaged', `The vault has no token for ${quoted(endpoint)}.`, {
    item,
    hint: `Sign in again: keyturn login ${shellWord(endpoint)}`,
  });
}
