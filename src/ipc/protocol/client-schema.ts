/**
 * Local clients and their permissions, as schemas of the wire.
 *
 * Invariant: every text is bounded.
 */
import * as z from 'zod';

import { asker, executable } from './asker-schema.ts';
import { keyPlace } from './key-schema.ts';
import { account, id, instant, name, scope, seconds, url } from './values.ts';

export const permission = z.object({
  resource: url,
  scope: scope.optional(),
  until: instant.optional(),
  decision: z.literal(['allow', 'deny']),
});

const heldPermission = permission.extend({
  /** It is for the endpoint's API key, which goes in this header, and for no token. */
  key: keyPlace.optional(),
  /** The accounts that the program works as there; absent until its first token. */
  accounts: z.array(account).optional(),
  /** The permission is for this run of the program only. */
  run: asker.optional(),
  /** And for one token. */
  once: z.literal(true).optional(),
});

/** Of a child run: after the names of the programs behind it. */
const shownName = z.string().regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]{1,300}$/u);

export const localClient = z.object({
  clientId: id,
  name: shownName,
  pairedAt: instant,
  lastUsedAt: instant.optional(),
  /** As the kernel told it at the pairing; for display. */
  executable: executable.optional(),
  /** What that says: of an interpreter not which program it ran. */
  file: z.literal(['attested', 'interpreter']).optional(),
  /** It comes by a proxy: for this program, for every script of this interpreter, or for any program. */
  proxied: z.literal(['program', 'interpreter', 'any']).optional(),
  /** Of a child run: the program that delegated to it. */
  parentId: id.optional(),
  permissions: z.array(heldPermission),
});

/** `lifetime` in seconds. */
export const leaseDelegate = z.object({
  resource: url,
  scope: scope.min(1).optional(),
  account: account.optional(),
  lifetime: seconds.min(1),
  name,
});

/** `clientId`, `key` and `brokerId` are what the child connects with. */
export const leaseDelegateResult = z.object({
  clientId: id,
  /** 32 bytes, base64url. */
  key: z.string().regex(/^[\w-]{43}$/),
  brokerId: id,
  resource: url,
  scope,
  account,
  until: instant,
});
