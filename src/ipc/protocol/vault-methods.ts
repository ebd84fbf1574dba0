/**
 * The owner's methods about the vault's lock, backup keys, and the pause of all access.
 *
 * Invariant: every string has a maximum length. Results hold only states and backup keys.
 */
import * as z from 'zod';
import { maxLength } from '../wire/limits.ts';
import { ownersWiden, type Method } from './method.ts';
import { empty, instant } from './schemas/values.ts';

const sentence = z.string().max(maxLength.scope);

/** A passphrase as it is typed; the vault limits its length too. */
const passphrase = z.string().min(1).max(1024);

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
 * The caller's display, where a broker without a window opens the browser. A value of another form is ignored, so that no
 * sign-in fails because of it.
 */
export const display = z.object({
  DISPLAY: displayName.optional().catch(undefined),
  WAYLAND_DISPLAY: displayName.optional().catch(undefined),
  XAUTHORITY: absolutePath.optional().catch(undefined),
  DBUS_SESSION_BUS_ADDRESS: busAddress.optional().catch(undefined),
  XDG_CURRENT_DESKTOP: displayName.optional().catch(undefined),
});

/** The desktop session of the caller, for the keychain's helper process and for nothing else. */
const desktopSession = z.object({
  DBUS_SESSION_BUS_ADDRESS: busAddress,
  DISPLAY: displayName.optional(),
  WAYLAND_DISPLAY: displayName.optional(),
  XAUTHORITY: absolutePath.optional(),
  XDG_RUNTIME_DIR: absolutePath.optional(),
});

export const vaultState = z.object({
  state: z.literal([
    // Not needed yet.
    'unused',
    // Nobody has chosen its passphrase.
    'new',
    'open',
    // Open, but the keychain's last answer took seconds.
    'slow',
    // By Keyturn.
    'locked',
    // By the system.
    'keychainLocked',
    // The keychain asked the user, who has not answered.
    'waiting',
    // The system has no keychain to reach.
    'absent',
    // The keychain's worker process failed.
    'crashed',
    // It can be read but not written.
    'full',
    // An item, or the home's root key, is missing or unreadable.
    'damaged',
  ]),
  since: instant,
  what: sentence.optional(),
  hint: sentence.optional(),
});

/** A backup key, with which the `keyturn` command seals one backup: 32 bytes, base64url. */
const backupKey = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

/** A backup key that the vault has sealed. Nonce, key and tag: 60 bytes, base64url. */
const sealedKey = z.string().regex(/^[A-Za-z0-9_-]{80}$/);

export const pause = z.object({
  since: instant,
  /** Absent: until the user resumes. */
  until: instant.optional(),
});

export const vaultMethods = {
  // The vault's lock
  'vault.lock': { who: 'owner', effect: 'reduces', params: empty, result: empty },
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
  /** A new backup key, and the same one sealed. It opens no earlier backup. */
  'backup.seal': {
    who: 'owner',
    effect: 'reads',
    mayPrompt: true,
    params: empty,
    result: z.object({ key: backupKey, sealedKey }),
  },
  /** What the backup holds may be a secret that was in plain text then. */
  'backup.open': {
    who: 'owner',
    effect: 'widens',
    changesNoList: true,
    mayPrompt: true,
    params: z.object({ sealedKey }),
    result: z.object({ key: backupKey }),
  },

  // The pause of all access
  /** Never shortens a pause. The result: the pause in effect now, which may be an earlier one that ends later. */
  pause: {
    who: 'owner',
    effect: 'reduces',
    mayPrompt: true,
    params: z.object({ until: instant.optional() }),
    result: pause,
  },
  resume: {
    // The records are verified first: by then the vault has said whether there is a pause.
    ...ownersWiden,
    mayPrompt: true,
    params: empty,
    result: empty,
  },
} as const satisfies Record<string, Method>;
