/**
 * Settings as schemas of the wire: what is set, what was written, and whether the app decides about it.
 *
 * Invariant: every string has a maximum length.
 */
import * as z from 'zod';
import { maxLength } from '../../wire/limits.ts';

export const settingName = z.string().regex(/^[A-Za-z][A-Za-z0-9.]{0,63}$/);
export const settingText = z.string().max(maxLength.setting);
export const settingValue = z.union([
  settingText,
  z.number(),
  z.boolean(),
  z.null(),
  z.array(settingText).max(maxLength.id),
]);

export const setting = z.object({
  name: settingName,
  /** Absent: not set, and there is no default. A password in a URL is left out. */
  value: settingValue.optional(),
  default: settingValue.optional(),
  /** `vault`: the file says something else, which nobody confirmed. */
  source: z.literal(['file', 'environment', 'default', 'vault']),
  /** What the file or a variable says and is not in force, because the user has not approved it. */
  written: settingValue.optional(),
  isUnapproved: z.literal(true).optional(),
  /** A change is in force at once; else at the broker's next start. */
  appliesImmediately: z.boolean(),
});

/** A setting that was written otherwise than the vault has it. Passwords in URLs are left out. */
export const unapproved = z.object({
  name: settingName,
  /** What was written; absent: it was unset. */
  value: settingValue.optional(),
  /** What is in effect instead; absent: nothing. */
  inEffect: settingValue.optional(),
  /** The value is the same, and the file that it names has another content. */
  isContent: z.literal(true).optional(),
});

/** What a home allows that was used without the Keyturn app. */
export const allowedGroup = z.object({
  what: z.literal(['signIns', 'apiKeys', 'apps', 'permissions', 'exceptions', 'oauthClients', 'proxies']),
  count: z.int(),
  /** The first of them. */
  lines: z.array(z.string().max(maxLength.url)),
});

/**
 * Who may approve in this home: the `keyturn` command, the Keyturn app, or either. `appClosed`: only the Keyturn app, and
 * it doesn't run. `unknown`: the vault, which says so, was not needed yet.
 */
export const approverState = z.literal(['unknown', 'command', 'app', 'appClosed', 'either']);
