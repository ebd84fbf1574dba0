/** The owner's methods about the vault's lock and keys of backups, and about the pause of all access. */
import * as z from 'zod';

import type { Method } from './method.ts';
import { pause } from './schemas/pause-schema.ts';
import { empty, instant } from './schemas/values.ts';
import {
  backupOpen,
  backupOpened,
  backupSealed,
  desktopSession,
  passphrase,
} from './schemas/vault-schema.ts';

export const vaultMethods = {
  // The vault's lock
  'vault.lock': { who: 'owner', effect: 'narrows', params: empty, result: empty },
  'vault.unlock': {
    who: 'owner',
    effect: 'widens',
    params: z.object({ passphrase: passphrase.optional(), session: desktopSession.optional() }),
    result: empty,
  },
  'vault.passphrase': {
    who: 'owner',
    effect: 'widens',
    params: z.object({ current: passphrase, next: passphrase }),
    result: empty,
  },

  // Backups of programs' configuration that a command changes
  /** A new key and the same one sealed. It opens nothing that was sealed before. */
  'backup.seal': { who: 'owner', effect: 'reads', mayPrompt: true, params: empty, result: backupSealed },
  /** What the backup holds may be a secret that stood in plain text then. */
  'backup.open': {
    who: 'owner',
    effect: 'widens',
    changesNoList: true,
    mayPrompt: true,
    params: backupOpen,
    result: backupOpened,
  },

  // The pause of all access
  /** Never shortens a pause. The answer: the pause that stands now, which may be an earlier one that ends later. */
  pause: {
    who: 'owner',
    effect: 'narrows',
    mayPrompt: true,
    params: z.object({ until: instant.optional() }),
    result: pause,
  },
  resume: {
    who: 'owner',
    effect: 'widens',
    // The records are verified first: by then the vault has said whether a pause stands.
    usesRecords: true,
    mayPrompt: true,
    params: empty,
    result: empty,
  },
} as const satisfies Record<string, Method>;
