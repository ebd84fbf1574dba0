/**
 * The owner's methods about the home: our OAuth clients, settings, exceptions, the audit log, the broker itself.
 *
 * Invariants: every string in params has a maximum length. A row of the audit log holds no secret (audit/audit-row.ts).
 */
import * as z from 'zod';
import { maxLength } from '../wire/limits.ts';
import { ownersEnd, ownersList, ownersMayWiden, ownersShow, ownersWiden, type Method } from './method.ts';
import { clientIdentifier, registered, registration } from './schemas/oauth-client-schema.ts';
import { proxyStanding } from './schemas/proxy-schema.ts';
import {
  approverState,
  setting,
  settingName,
  settingText,
  settingValue,
  unapproved,
} from './schemas/settings-schema.ts';
import { count, empty, exceptionName, url } from './schemas/values.ts';
import { receipt } from './sign-in-methods.ts';
import { display, pause, vaultState } from './vault-methods.ts';

const auditRow = z.looseObject({
  time: z.number(),
  event: z.string(),
  outcome: z.string().optional(),
  app: z.string().optional(),
  endpoint: z.string().optional(),
  issuer: z.string().optional(),
  scope: z.array(z.string()).optional(),
  count: count.optional(),
  fingerprint: z.string().optional(),
});

/** What happened within one hour. `at`: its beginning in milliseconds, as times are in the log. */
const activeHour = z.object({
  at: z.number(),
  handedOut: count,
  refused: count,
  refreshed: count,
  failed: count,
});

/** An app that got tokens or API keys for an endpoint: when last (milliseconds), and how many in each hour. */
const use = z.object({
  app: z.string(),
  endpoint: z.string(),
  last: z.number(),
  handedOut: z.array(count),
});

const status = z.object({
  version: z.string().max(maxLength.id),
  pid: z.int().positive(),
  home: z.string().max(maxLength.scope),
  /** Its kind: `keychain`, `sealed-file` or `memory`. */
  vault: z.string().max(maxLength.id),
  /** Of a `sealed-file` vault. */
  vaultOpenedBy: z.literal(['passphrase', 'keychain']).optional(),
  /**
   * From where this start took the passphrase of a `sealed-file`, or tried to; absent where a user types it.
   * `isUsed`: that opened the vault, which was not locked since. `hasFailed`: it did not, and the vault has not been
   * opened since.
   */
  vaultSource: z
    .object({
      from: z.literal(['file', 'credential', 'command']),
      /** The path, or the name of the credential. */
      name: settingText.optional(),
      isUsed: z.boolean(),
      hasFailed: z.boolean(),
    })
    .optional(),
  vaultState,
  /** All access is paused. Before the vault was asked (`homeState` is `unchecked`) this isn't known. */
  pause: pause.optional(),
  /** The user's own command; absent: the system's browser. */
  browser: settingText.optional(),
  /** Where the browser opens, e.g. `:0`; absent: the broker is the Keyturn app, or has no display. */
  display: settingText.optional(),
  insecureLoopback: z.boolean(),
  signIns: count,
  apiKeys: count,
  apps: count,
  requests: count,
  exceptions: z.array(z.object({ server: url, names: z.array(exceptionName) })),
  /** Where each proxy leads and listens, whether it does, and which apps came by it. */
  proxies: z.array(proxyStanding),
  /** Open ones. */
  forwards: count,
  /** Files that are ignored and left as they are, and why. */
  unreadable: z.array(z.object({ file: settingText, why: z.string(), hint: z.string().optional() })),
  /** From document.json, the home's records, which the vault verifies. */
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
     * Settings whose written value isn't the vault's. `inEffect` applies if the broker is the Keyturn app, or only that
     * may approve; else `value` does.
     */
    differing: z.array(unapproved),
  }),
  /** Settings that aren't the default, by name. */
  settings: z.record(settingName, settingValue),
  log: z.object({
    level: z.string().max(maxLength.id),
    /** Absent: the terminal. */
    file: settingText.optional(),
    /** False: it could not be written the last time. */
    ok: z.boolean(),
  }),
  /** The audit log can't be written: why, how many rows wait in memory, and how many had no room there. */
  audit: z.object({ why: z.string(), hint: z.string().optional(), waiting: count, lost: count }).optional(),
  /** What the broker could not do to shield its process, in sentences; empty where it did everything. */
  unshielded: z.array(settingText),
  /** Issuers whose clock is more than a minute from this machine's; `ahead` in seconds, negative for behind. */
  clocks: z.array(z.object({ issuer: url, ahead: z.int() })),
});

/** What ending everything came to. */
const reset = z.object({
  revoked: z.array(receipt),
  /** Our OAuth clients that stay registered at their issuers. */
  oauthClients: z.array(z.object({ issuer: url, clientId: clientIdentifier })),
  /** Record files that could not be read: what they named was neither revoked nor removed. */
  unreadable: z.array(z.string().max(4096)),
  /** What the vault would not let go of, as a sentence; absent where it is empty. */
  vaultLeft: z.string().max(maxLength.scope).optional(),
});

export const homeMethods = {
  // Our OAuth clients at authorization servers
  'oauthClient.add': {
    ...ownersWiden,
    params: registration,
    result: z.object({
      /** The redirect URI to register at the issuer; absent for a client that needs no user. */
      redirectUri: url.optional(),
      /** The client ID of the OAuth client that was entered for that issuer before, even if it is the same. */
      replaced: z.string().optional(),
    }),
  },
  'oauthClient.list': {
    ...ownersList,
    params: empty,
    result: z.object({ oauthClients: z.array(registered) }),
  },
  /** Refused with `conflict` while a sign-in needs the client. */
  'oauthClient.remove': {
    ...ownersEnd,
    params: z.object({ issuer: url, clientId: clientIdentifier }),
    result: empty,
  },

  // Settings and exceptions
  'settings.get': {
    ...ownersShow,
    params: empty,
    result: z.object({
      settings: z.record(settingName, settingValue),
      details: z.array(setting),
      approver: approverState,
    }),
  },
  'settings.set': {
    who: 'owner',
    effect: 'widens',
    /** A string is read as the boolean or number that it spells; `null` unsets. */
    params: z.object({ name: settingName, value: settingValue }),
    result: z.object({ inForce: z.literal(['now', 'nextStart']) }),
  },
  'exception.set': {
    ...ownersMayWiden,
    /** The MCP server's endpoint, or an issuer. */
    params: z.object({ server: url, name: exceptionName, on: z.boolean() }),
    result: empty,
  },

  // The audit log
  'audit.tail': {
    ...ownersShow,
    params: z.object({ count: z.int().min(1).max(1000) }),
    /** Oldest first; times in milliseconds. `skipped`: how many lines among them aren't rows. */
    result: z.object({ rows: z.array(auditRow), skipped: count.optional() }),
  },
  'audit.activity': {
    ...ownersShow,
    /** A week at most. */
    params: z.object({ hours: z.int().min(1).max(168) }),
    /** `hours`: oldest first, the last one is not over. `uses`: the most used first. */
    result: z.object({ hours: z.array(activeHour), uses: z.array(use) }),
  },

  // The broker
  status: { ...ownersShow, params: empty, result: status },
  subscribe: { ...ownersShow, params: empty, result: empty },
  /** The display of the user's command: the browser opens there, unless the broker is the Keyturn app. It changes no access. */
  'display.set': { ...ownersShow, params: display, result: empty },
  /** Answers when every rotated token is in the vault, or was given up (daemon/shutdown.ts). */
  'broker.stop': {
    who: 'owner',
    effect: 'reduces',
    inMismatchedHome: true,
    stopsBroker: true,
    params: empty,
    result: empty,
  },
  'home.reset': {
    who: 'owner',
    effect: 'reduces',
    inMismatchedHome: true,
    stopsBroker: true,
    /** `withoutVault`: go on where the vault is locked or broken, and nothing can be revoked. */
    params: z.object({ withoutVault: z.boolean().optional() }),
    result: reset,
  },
} as const satisfies Record<string, Method>;
