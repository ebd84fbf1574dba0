/** The owner's methods about the home: our clients, settings, waived rules, the audit log, the broker itself. */
import * as z from 'zod';

import { ownersEnd } from './method.ts';
import type { Method } from './method.ts';
import { activeHour, auditRow, use } from './schemas/audit-schema.ts';
import { reset } from './schemas/sign-in-schema.ts';
import { clientIdentifier, registered, registration } from './schemas/oauth-client-schema.ts';
import { approverState, setting, settingName, settingValue } from './schemas/settings-schema.ts';
import { status } from './schemas/status-schema.ts';
import { empty, instant, exceptionName, url } from './schemas/values.ts';
import { display } from './schemas/vault-schema.ts';

export const homeMethods = {
  // Our OAuth clients at authorization servers
  'oauthClient.set': {
    who: 'owner',
    effect: 'widens',
    usesRecords: true,
    params: registration,
    /** The redirect URI to register at the issuer; absent for a client that needs no person. */
    result: z.object({
      redirectUri: url.optional(),
      /** The client that was entered for that issuer before, the same one too. */
      replaced: z.string().optional(),
    }),
  },
  'oauthClient.list': {
    who: 'owner',
    effect: 'reads',
    showsRecords: true,
    isPolled: true,
    params: empty,
    result: z.object({ oauthClients: z.array(registered) }),
  },
  /** Refused with `conflict` while a sign-in needs the client. */
  'oauthClient.remove': {
    ...ownersEnd,
    params: z.object({ issuer: url, clientId: clientIdentifier }),
    result: empty,
  },

  // Settings and waived rules
  'settings.get': {
    who: 'owner',
    effect: 'reads',
    isPolled: true,
    inMismatchedHome: true,
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
    /** Text counts as the boolean or number that it spells; `null` unsets. */
    params: z.object({ name: settingName, value: settingValue }),
    result: z.object({ inForce: z.literal(['now', 'nextStart']) }),
  },
  'exception.set': {
    who: 'owner',
    effect: 'mayWiden',
    usesRecords: true,
    /** The MCP server's endpoint, or an issuer. */
    params: z.object({ server: url, name: exceptionName, on: z.boolean() }),
    result: empty,
  },

  // The audit log
  'audit.tail': {
    who: 'owner',
    effect: 'reads',
    isPolled: true,
    inMismatchedHome: true,
    params: z.object({ count: z.int().min(1).max(1000) }),
    /** Oldest first; times in milliseconds. `skipped`: how many lines among them aren't rows. */
    result: z.object({ rows: z.array(auditRow), skipped: instant.optional() }),
  },
  'audit.activity': {
    who: 'owner',
    effect: 'reads',
    isPolled: true,
    inMismatchedHome: true,
    /** A week at most. */
    params: z.object({ hours: z.int().min(1).max(168) }),
    /** `hours`: oldest first, the last one is not over. `uses`: the most used first. */
    result: z.object({ hours: z.array(activeHour), uses: z.array(use) }),
  },

  // The broker
  status: {
    who: 'owner',
    effect: 'reads',
    isPolled: true,
    inMismatchedHome: true,
    params: empty,
    result: status,
  },
  subscribe: {
    who: 'any',
    effect: 'reads',
    isPolled: true,
    inMismatchedHome: true,
    params: empty,
    result: empty,
  },
  /** Where the user's command runs: the browser opens there, unless the broker is the app. */
  'display.set': {
    who: 'owner',
    effect: 'reads',
    isPolled: true,
    inMismatchedHome: true,
    params: display,
    result: empty,
  },
  /** Answers when every rotated token is in the vault. */
  'broker.stop': {
    who: 'owner',
    effect: 'narrows',
    inMismatchedHome: true,
    stopsBroker: true,
    params: empty,
    result: empty,
  },
  'home.reset': {
    who: 'owner',
    effect: 'narrows',
    inMismatchedHome: true,
    stopsBroker: true,
    /** `withoutVault`: go on where the vault is locked or broken, and nothing can be revoked. */
    params: z.object({ withoutVault: z.boolean().optional() }),
    result: reset,
  },
} as const satisfies Record<string, Method>;
