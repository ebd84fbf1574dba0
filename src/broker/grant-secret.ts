/**
 * A grant's secret item in the vault: refresh token, and an access token only where no refresh token exists.
 *
 * Invariant: replacing a refresh token keeps the replaced one of an earlier sign-in until the grant
 * is revoked, so that "disconnect" reaches every token the server still honours.
 */
import { z } from 'zod';
import { KeyturnError } from '../errors.ts';
import type { Vault } from '../vault/vault.ts';
import { grantVaultId } from './grant.ts';

const schema = z.object({
  refreshToken: z.string().optional(),
  accessToken: z
    .object({
      value: z.string(),
      issuedAt: z.number(),
      expiresAt: z.number(),
      scope: z.array(z.string()),
    })
    .optional(),
  /** Refresh tokens of earlier sign-ins of this grant, for revocation only. */
  superseded: z.array(z.string()).default([]),
});

export type GrantSecret = z.infer<typeof schema>;

/** Earlier sign-ins remembered for revocation; servers end older ones by themselves long before. */
export const mostSuperseded = 8;

/** Throws `vault_unreadable` when the item is missing, locked or of another shape. */
export async function readGrantSecret(vault: Vault, grantId: string): Promise<GrantSecret> {
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

export async function writeGrantSecret(vault: Vault, grantId: string, secret: GrantSecret): Promise<void> {
  await vault.write(grantVaultId(grantId), JSON.stringify(secret));
}

function unreadable(vault: Vault, grantId: string): KeyturnError {
  return new KeyturnError(
    'vault_unreadable',
    `The ${vault.kind} item of grant ${grantId} has an unknown shape.`,
    {
      hint: 'Keyturn left it as it is. A newer Keyturn may have written it; else revoke the grant and sign in again.',
    },
  );
}
