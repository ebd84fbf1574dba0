/**
 * What `status` answers, as a schema of the wire.
 *
 * Invariant: every text is bounded.
 */
import * as z from 'zod';

import { approverState, settingName, settingText, settingValue, unapproved } from './settings-schema.ts';
import { pause } from './pause-schema.ts';
import { proxyStanding } from './proxy-schema.ts';
import { instant, exceptionName, url } from './values.ts';
import { vaultState } from './vault-schema.ts';
import { maxLength } from '../../wire/limits.ts';

const exceptions = z.array(
  z.object({
    server: url,
    names: z.array(exceptionName),
  }),
);

export const status = z.object({
  version: z.string().max(maxLength.id),
  pid: z.int().positive(),
  home: z.string().max(maxLength.scope),
  vault: z.string().max(maxLength.id),
  /** Of a `sealed-file` vault. */
  vaultKey: z.literal(['passphrase', 'keychain']).optional(),
  /**
   * From where this start took the passphrase of a `sealed-file`, or tried to; absent where a user types it.
   * `isUsed`: that opened the vault.
   */
  vaultSource: z
    .object({
      from: z.literal(['file', 'credential', 'command']),
      /** The path, or the name of the credential. */
      name: settingText.optional(),
      isUsed: z.boolean(),
    })
    .optional(),
  vaultState,
  /** All access is paused. Before the vault was asked (`homeState` is `unchecked`) this isn't known. */
  pause: pause.optional(),
  /** The user's own command; absent: the system's browser. */
  browser: settingText.optional(),
  /** Where the browser opens, e.g. `:0`; absent: in the app, or the broker has no display. */
  display: settingText.optional(),
  insecureLoopback: z.boolean(),
  /** How many there are. */
  signIns: z.int().nonnegative(),
  apiKeys: z.int().nonnegative(),
  apps: z.int().nonnegative(),
  requests: z.int().nonnegative(),
  exceptions,
  /** Where each proxy leads and listens, whether it does, and which apps came by it. */
  proxies: z.array(proxyStanding),
  /** How many forwards are open. */
  forwards: z.int().nonnegative(),
  /** Files that count for nothing, were left as they are, and why. */
  unreadable: z.array(z.object({ file: settingText, why: z.string(), hint: z.string().optional() })),
  /** What the document says of this home. */
  homeState: z.object({
    /** `unchecked`: the vault was not needed yet. `memory`: a memory vault, which remembers nothing of it. */
    state: z.literal(['unchecked', 'checked', 'memory', 'mismatched']),
    approver: approverState,
    /** The vault of this home was opened, now or at an earlier start. Until then, another one can be chosen. */
    hasOpenedVault: z.boolean(),
    /** A card about the settings waits, and nothing goes to the network until it is answered. */
    isWaiting: z.boolean(),
    /** Why it is `mismatched`: its files and its vault do not belong together. */
    why: z.string().optional(),
    /**
     * Settings whose written value isn't the vault's. While the app runs, and in an app's home, `inEffect` applies;
     * elsewhere `value` does.
     */
    differing: z.array(unapproved),
  }),
  /** Settings that were recorded or changed, by name. */
  settings: z.record(settingName, settingValue),
  log: z.object({
    level: z.string().max(maxLength.id),
    /** Absent: the terminal. */
    file: settingText.optional(),
    /** False: it could not be written the last time. */
    ok: z.boolean(),
  }),
  /** The audit log can't be written: why, how many rows wait in memory, and how many had no room there. */
  audit: z
    .object({ why: z.string(), hint: z.string().optional(), waiting: instant, lost: instant })
    .optional(),
  /** What the broker could not do to shield its process, in sentences; empty where it did everything. */
  unshielded: z.array(settingText),
  /** Issuers whose clock is more than a minute from this machine's; `ahead` in seconds, negative for behind. */
  clocks: z.array(z.object({ issuer: url, ahead: z.int() })),
});
