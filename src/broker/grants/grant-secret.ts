/**
 * A grant's item in the vault: the refresh token, or an access token if there is no refresh token, the key that they are
 * bound to, and the binding that says where they may go.
 *
 * Invariants: callers get a secret only with its binding, and only after the index of grants agrees with the binding.
 * An item of an unknown shape is refused and kept. When a sign-in replaces a refresh token, the old one is kept until
 * the grant is revoked, so that "disconnect" reaches every token that the server still accepts. Each is kept with the
 * registration that it was issued to, because no other client may revoke it (RFC 7009 §2.1). If the vault refuses a
 * rotated token, it stays in memory and all callers get it; a sign-in replaces it. Only the holder of the grant's turn
 * writes (`Refresher.turns`).
 */
import { z } from 'zod';
import { reasonOf } from '../../base/errors.ts';
import { VaultError } from '../../vault/base/trouble.ts';
import { getIfAny } from '../../vault/base/vault.ts';
import type { Vault } from '../../vault/base/vault.ts';
import { proofJwkSchema } from '../../oauth/client/proof-key.ts';
import { bindingSchema } from './grant-binding.ts';
import { GrantRoster } from './grant-roster.ts';
import { VaultComparison } from './vault-comparison.ts';
import type { ComparisonParts } from './vault-comparison.ts';
import { grantVaultId } from '../records/grant.ts';
import type { Grant } from '../records/grant.ts';
import type { Registrations } from '../records/registrations.ts';

const tokenSchema = z.object({
  value: z.string(),
  hint: z.enum(['refresh_token', 'access_token']),
  /** The registration it was issued to; absent if unknown: then the grant's present one. */
  registrationId: z.string().optional(),
  /** Of an access token: milliseconds since the epoch. */
  expiresAt: z.number().optional(),
});

/** A token that is no longer used. It is kept only to be revoked. */
export type Superseded = z.infer<typeof tokenSchema>;

export const secretSchema = z.object({
  refreshToken: z.string().optional(),
  /** The key that both tokens are bound to (RFC 9449); absent for Bearer tokens. */
  proofKey: proofJwkSchema.optional(),
  /** The registration that both tokens were issued to. */
  registrationId: z.string().optional(),
  accessToken: z
    .object({
      value: z.string(),
      /** Milliseconds since the epoch by the wall clock, and so the next. */
      issuedAt: z.number(),
      /** Absent: the server stated none. */
      expiresAt: z.number().optional(),
      scope: z.array(z.string()),
    })
    .optional(),
  superseded: z.array(tokenSchema).default([]),
  /** The scopes of the last narrower refresh; absent once a full refresh brought all scopes again (lost-scope.ts). */
  narrowedTo: z.array(z.string()).optional(),
  binding: bindingSchema,
});

export type GrantSecret = z.infer<typeof secretSchema>;

/** Keeps at most eight refresh tokens and eight access tokens for revocation; servers end older ones long before. */
const maxSuperseded = 8;

/** The tokens to keep at `now` (milliseconds): the newest of each kind, without expired access tokens. */
export function keptSuperseded(tokens: readonly Superseded[], now: number): Superseded[] {
  const alive = tokens.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now);
  return (['refresh_token', 'access_token'] as const).flatMap((hint) =>
    alive.filter((token) => token.hint === hint).slice(-maxSuperseded),
  );
}

export interface SecretsParts extends ComparisonParts {
  readonly vault: Vault;
  /** Called first: if the vault was exchanged for another one, this throws before anything is noted as missing. */
  readonly registrations: Pick<Registrations, 'verify'>;
}

export class GrantSecrets {
  /** How the index differs from the vault. */
  readonly comparison: VaultComparison;
  readonly #parts: SecretsParts;
  readonly #roster: GrantRoster;
  /** Rotated tokens that the vault refused to keep: newer than what it holds. */
  readonly #unsaved = new Map<string, GrantSecret>();
  #isOpen = false;

  constructor(parts: SecretsParts) {
    this.#parts = parts;
    this.comparison = new VaultComparison(parts);
    this.#roster = new GrantRoster(parts.vault);
  }

  /** Ids of all grants in the vault's list; empty until it was opened. */
  get known(): readonly string[] {
    return this.#roster.ids;
  }

  /**
   * At the vault's first use: notes which grants there are, and puts lines back that the index has lost. Does
   * nothing where there is no index that can be read. Throws what the vault throws.
   */
  async open(): Promise<void> {
    if (this.#isOpen || !this.#parts.grants.isReadable) return;
    await this.#roster.open();
    for (const id of this.#roster.ids) if (!this.#parts.grants.byId(id)) await this.#restore(id);
    this.#isOpen = true;
  }

  /**
   * The newest secret, once the index agrees; one that the vault refused before is written first. Throws
   * `vault_unreadable` and what the vault throws.
   */
  async read(grantId: string): Promise<GrantSecret> {
    const unsaved = this.#unsaved.get(grantId);
    if (unsaved) {
      await this.write(grantId, unsaved);
      return unsaved;
    }
    await this.#parts.registrations.verify();
    await this.open();
    const secret = await this.#item(grantId);
    await this.comparison.compare(grantId, secret);
    return secret;
  }

  /**
   * Undefined if there is none yet, or its item is lost; only a new sign-in helps then. Throws what the vault throws.
   */
  async readIfThere(grantId: string): Promise<GrantSecret | undefined> {
    try {
      return await this.read(grantId);
    } catch (error) {
      if (reasonOf(error) === 'vault_unreadable') return undefined;
      throw error;
    }
  }

  /**
   * Makes the grant's line in the index agree with the vault. Throws what the vault throws, except for a fault of this
   * one item.
   */
  async compareWithVault(grantId: string): Promise<void> {
    if (this.comparison.isCompared(grantId)) return;
    try {
      await this.read(grantId);
    } catch (error) {
      if (reasonOf(error) !== 'vault_unreadable') throw error;
    }
  }

  /** After a sign-in. Until this resolves, the grant keeps its earlier tokens. */
  async write(grantId: string, secret: GrantSecret): Promise<void> {
    await this.#roster.add(grantId);
    await this.#parts.vault.set(grantVaultId(grantId), JSON.stringify(secret));
    this.#unsaved.delete(grantId);
  }

  /**
   * Writes the vault first, then the index by `follow`. If `follow` fails, the next use of the grant mends the index.
   */
  async writeBoth(grantId: string, secret: GrantSecret, follow: () => Promise<Grant>): Promise<Grant> {
    await this.write(grantId, secret);
    try {
      const grant = await follow();
      this.comparison.written(grantId);
      return grant;
    } catch (error) {
      this.comparison.failed(grantId);
      throw error;
    }
  }

  /** After a rotation the old refresh token no longer works, so the new one counts even if the vault refuses it. */
  async rotate(grantId: string, secret: GrantSecret): Promise<void> {
    this.#unsaved.set(grantId, secret);
    await this.write(grantId, secret);
  }

  /** Records in the vault that the grant has ended, even if the index can't be written. Throws as `read`. */
  async end(grantId: string, revokedAt: number): Promise<void> {
    await this.#parts.registrations.verify();
    await this.#roster.open();
    const secret = this.#unsaved.get(grantId) ?? (await this.#item(grantId));
    const { binding } = secret;
    await this.write(grantId, {
      ...secret,
      binding: { ...binding, revokedAt: binding.revokedAt ?? revokedAt },
    });
    this.comparison.failed(grantId);
  }

  async remove(grantId: string): Promise<void> {
    await this.#parts.vault.delete(grantVaultId(grantId));
    this.#unsaved.delete(grantId);
  }

  /** A last try to write what the vault refused, before the process ends. Never throws. */
  async flush(): Promise<void> {
    await Promise.allSettled([...this.#unsaved].map(([grantId, secret]) => this.write(grantId, secret)));
  }

  async #item(grantId: string): Promise<GrantSecret> {
    const { vault } = this.#parts;
    const text = await getIfAny(vault, grantVaultId(grantId));
    if (text !== undefined) return parsed(vault, grantId, text);
    this.comparison.missed(grantId);
    throw absent(vault, grantId);
  }

  /** A grant that ended, or a sign-in that was not finished, left nothing in the vault, and so no line comes back. */
  async #restore(grantId: string): Promise<void> {
    const { vault } = this.#parts;
    const text = await getIfAny(vault, grantVaultId(grantId));
    if (text === undefined) return;
    await this.comparison.compare(grantId, parsed(vault, grantId, text));
  }
}

function parsed(vault: Vault, grantId: string, text: string): GrantSecret {
  try {
    const found = secretSchema.safeParse(JSON.parse(text));
    if (found.success) return found.data;
  } catch {
    // The parser's error repeats a piece of the item.
  }
  throw new VaultError('damaged', `The ${vault.kind} item of grant ${grantId} has an unknown shape.`, {
    item: grantVaultId(grantId),
    hint: 'Keyturn left it as it is. A newer Keyturn may have written it; else revoke the grant and sign in again.',
  });
}

function absent(vault: Vault, grantId: string): VaultError {
  return new VaultError(
    'damaged',
    `The ${vault.kind} holds nothing of the grant ${grantId}, which the index of grants lists.`,
    {
      item: grantVaultId(grantId),
      rule: 'vault: only grants in the vault give tokens; an item that the index lists counts as unreadable, never as absent',
      hint: 'Check that the right keyring is unlocked. If it is, sign in again: keyturn login URL',
    },
  );
}
