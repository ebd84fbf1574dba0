/**
 * A grant's secret item in the vault: refresh token, and an access token only where no refresh token exists.
 *
 * Invariants: replacing a refresh token keeps the replaced one of an earlier sign-in until the grant
 * is revoked, so that "disconnect" reaches every token the server still honours; each with the
 * registration it was issued under, which alone may revoke it (RFC 7009 §2.1). A rotated token that
 * the vault refused stays in memory, and is what everybody reads from then on; a sign-in replaces it.
 * Whoever writes holds the grant's turn (`Refresher.exclusive`).
 */
import { z } from 'zod';
import { VaultError } from '../vault/trouble.ts';
import type { Vault } from '../vault/vault.ts';
import { grantVaultId } from './grant.ts';

const tokenSchema = z.object({
  value: z.string(),
  hint: z.enum(['refresh_token', 'access_token']),
  /** What it was issued under; absent where nobody knows: the grant's present one. */
  registrationId: z.string().optional(),
  /** Of an access token: milliseconds since the epoch. */
  expiresAt: z.number().optional(),
});

/** A token that nobody uses any more, kept for a revocation alone. */
export type Superseded = z.infer<typeof tokenSchema>;

const supersededSchema = z.union([
  tokenSchema,
  // As older versions wrote it.
  z.string().transform((value): z.infer<typeof tokenSchema> => ({ value, hint: 'refresh_token' })),
]);

const schema = z.object({
  refreshToken: z.string().optional(),
  /** What refresh and access token were issued under; absent in items of older versions. */
  registrationId: z.string().optional(),
  accessToken: z
    .object({
      value: z.string(),
      /** Milliseconds since the epoch by the wall clock, and so the next. */
      issuedAt: z.number(),
      expiresAt: z.number(),
      scope: z.array(z.string()),
    })
    .optional(),
  superseded: z.array(supersededSchema).default([]),
});

export type GrantSecret = z.infer<typeof schema>;

/** Earlier sign-ins remembered for revocation; servers end older ones by themselves long before. As many access tokens as are ever in use. */
const mostSuperseded = 8;

/** Those worth keeping at `now` (milliseconds): the newest of each kind, and no access token that is over. */
export function keptSuperseded(tokens: readonly Superseded[], now: number): Superseded[] {
  const alive = tokens.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now);
  return (['refresh_token', 'access_token'] as const).flatMap((hint) =>
    alive.filter((token) => token.hint === hint).slice(-mostSuperseded),
  );
}

export class GrantSecrets {
  readonly #vault: Vault;
  /** Rotated tokens that the vault refused to keep: newer than what it holds. */
  readonly #unsaved = new Map<string, GrantSecret>();

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  /** The newest secret; one that the vault refused before is written first. Throws `vault_unreadable` and what the vault throws. */
  async read(grantId: string): Promise<GrantSecret> {
    const unsaved = this.#unsaved.get(grantId);
    if (!unsaved) return readItem(this.#vault, grantId);
    await this.write(grantId, unsaved);
    return unsaved;
  }

  /** After a sign-in. Until it resolves the grant keeps what it had. */
  async write(grantId: string, secret: GrantSecret): Promise<void> {
    await this.#vault.write(grantVaultId(grantId), JSON.stringify(secret));
    this.#unsaved.delete(grantId);
  }

  /** After a rotation: the old refresh token is spent, so the new one counts even if the vault refuses it. */
  async rotate(grantId: string, secret: GrantSecret): Promise<void> {
    this.#unsaved.set(grantId, secret);
    await this.write(grantId, secret);
  }

  async remove(grantId: string): Promise<void> {
    await this.#vault.remove(grantVaultId(grantId));
    this.#unsaved.delete(grantId);
  }

  /** A last try to write what the vault refused, before the process ends. Never throws. */
  async flush(): Promise<void> {
    await Promise.allSettled([...this.#unsaved].map(([grantId, secret]) => this.write(grantId, secret)));
  }
}

async function readItem(vault: Vault, grantId: string): Promise<GrantSecret> {
  const text = await vault.read(grantVaultId(grantId));
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw unreadable(vault, grantId);
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw unreadable(vault, grantId);
  return parsed.data;
}

function unreadable(vault: Vault, grantId: string): VaultError {
  return new VaultError('damaged', `The ${vault.kind} item of grant ${grantId} has an unknown shape.`, {
    item: grantVaultId(grantId),
    hint: 'Keyturn left it as it is. A newer Keyturn may have written it; else revoke the grant and sign in again.',
  });
}
