/**
 * Local clients and their permissions, as schemas of the wire.
 *
 * Invariant: every text is bounded.
 */
import * as z from 'zod';

import { asker, executable } from './asker-schema.ts';
import { keyPlace } from './key-schema.ts';
import { account, id, instant, name, scope, url } from './values.ts';

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

export const localClient = z.object({
  clientId: id,
  name,
  pairedAt: instant,
  lastUsedAt: instant.optional(),
  /** As the kernel told it at the pairing; for display. */
  executable: executable.optional(),
  /** What that says: of an interpreter not which program it ran. */
  file: z.literal(['attested', 'interpreter']).optional(),
  /** It comes by a proxy: for this program, for every script of this interpreter, or for any program. */
  proxied: z.literal(['program', 'interpreter', 'any']).optional(),
  permissions: z.array(heldPermission),
});
