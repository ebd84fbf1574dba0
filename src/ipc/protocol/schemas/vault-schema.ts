/**
 * The vault's lock, as schemas of the wire: its state, and what opens it; and the keys of backups that it seals.
 *
 * Invariant: every text is bounded, and nothing here comes back from the broker but the state and a backup's key.
 */
import * as z from 'zod';

import { instant } from './values.ts';
import { maxLength } from '../../wire/limits.ts';

const sentence = z.string().max(maxLength.scope);

/** A passphrase as it is typed; the vault bounds it too. */
export const passphrase = z.string().min(1).max(1024);

/** Bytes of a Unix socket's address, and some room for what D-Bus writes around it. */
const busAddress = z
  .string()
  .max(256)
  .regex(/^unix:(path=\/|abstract=)[A-Za-z0-9_./%\\-]+(,guid=[0-9a-f]{32})?$/);
const absolutePath = z
  .string()
  .max(1024)
  .regex(/^\/[^\p{Cc}]*$/u);
const displayName = z
  .string()
  .max(256)
  .regex(/^[A-Za-z0-9_.:/-]+$/);

/**
 * The display of the caller, for the browser of a broker without a window. What no desktop writes is left out: nobody's
 * sign-in should fail of it.
 */
export const display = z.object({
  DISPLAY: displayName.optional().catch(undefined),
  WAYLAND_DISPLAY: displayName.optional().catch(undefined),
  XAUTHORITY: absolutePath.optional().catch(undefined),
  DBUS_SESSION_BUS_ADDRESS: busAddress.optional().catch(undefined),
  XDG_CURRENT_DESKTOP: displayName.optional().catch(undefined),
});

/** The desktop session of the caller, for the keychain's helper process and for nothing else. */
export const desktopSession = z.object({
  DBUS_SESSION_BUS_ADDRESS: busAddress,
  DISPLAY: displayName.optional(),
  WAYLAND_DISPLAY: displayName.optional(),
  XAUTHORITY: absolutePath.optional(),
  XDG_RUNTIME_DIR: absolutePath.optional(),
});

export const vaultState = z.object({
  state: z.literal([
    'unused',
    'new',
    'open',
    'slow',
    'locked',
    'keychainLocked',
    'waiting',
    'absent',
    'crashed',
    'full',
    'damaged',
  ]),
  since: instant,
  what: sentence.optional(),
  hint: sentence.optional(),
});

/** 32 bytes, base64url. */
const backupKey = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

/** Nonce, key and tag: 60 bytes, base64url. */
const sealedKey = z.string().regex(/^[A-Za-z0-9_-]{80}$/);

/** Of a file that the vault seals for its owner: the key, and the same sealed. */
export const backupSealed = z.object({ key: backupKey, sealedKey });
export const backupOpen = z.object({ sealedKey });
export const backupOpened = z.object({ key: backupKey });
