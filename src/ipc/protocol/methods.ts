/**
 * The methods of the wire, one row each: what a method takes and answers, who may call it, and what has to hold before
 * it runs. The daemon's side only; local clients read answers with the guards of wire/.
 *
 * Invariants: a request reaches the broker only as the output of its `params` schema. Every text is bounded. Unknown
 * fields are dropped, so that a newer client can speak to an older broker. A flag that a row leaves out is the careful
 * choice, so a method that is added without a thought is refused rather than served.
 */
import * as z from 'zod';

import { activeHour, auditRow, auditVerdict, use } from './audit-schema.ts';
import {
  folderList,
  folderNamed,
  forwardList,
  forwardNamed,
  forwardOpen,
  forwardOpened,
  leaseDelegate,
  leaseDelegateResult,
  localClient,
  permission,
} from './client-schema.ts';
import { explanation, grant, grantNamed, moving, receipt, reset } from './grant-schema.ts';
import { interaction, interactionAnswer, loginAnswer, loginStart } from './interaction-schema.ts';
import { networkGet, networkResult } from './network-schema.ts';
import { proxy, proxyAdd, proxyNamed } from './proxy-schema.ts';
import { clientIdentifier, registered, registration } from './registration-schema.ts';
import { deskState, setting, settingName, settingValue } from './settings-schema.ts';
import { keyIsSet, keyListed, keySet } from './key-schema.ts';
import { pause } from './pause-schema.ts';
import { status } from './status-schema.ts';
import {
  keyResult,
  permissionRelease,
  tokenGet,
  tokenProve,
  tokenProveResult,
  tokenReject,
  tokenRejectResult,
  tokenResult,
  urlShow,
  urlShowResult,
} from './token-schema.ts';
import { account, empty, id, instant, overrideName, shownName, url } from './values.ts';
import { backupOpen, backupOpened, backupSealed, desktopSession, passphrase } from './vault-schema.ts';

/** Who may call a method. `any`: the owner and local clients, each seeing what is theirs. */
export type Who = 'owner' | 'client' | 'any';

/**
 * What a method does to access. `reads` shows. `narrows` takes away or ends. `asks` gives only what the person allows
 * on a card, or what the caller's own sign-in brings. `widens` gives somebody more than they had, or may do so.
 */
export type Effect = 'reads' | 'narrows' | 'asks' | 'widens';

interface Method {
  readonly params: z.ZodType;
  readonly result: z.ZodType;
  /** While the vault is locked, methods of `client` are refused; the owner's go on and meet the lock themselves. */
  readonly who: Who;
  readonly effect: Effect;
  /**
   * The owner uses records that confer authority, so they are verified first. For a local client they always are.
   * Without the flag unverified records throw, so a row that forgets it is refused.
   */
  readonly usesRecords?: true;
  /**
   * Starts a sign-in, or carries one on: it can put another account behind what was allowed. Refused at a closed desk.
   */
  readonly signsIn?: true;
  /** Success changes no list that anybody shows. For `narrows` and `widens`, which otherwise do. */
  readonly changesNoList?: true;
  /** A program may call it again and again to show something. It doesn't keep the vault from locking when idle. */
  readonly isPolled?: true;
  /** A person acts and waits: the keychain may ask at once, though it asked a moment ago. */
  readonly mayPrompt?: true;
  /** Answered even in a home whose files don't belong together: it only shows, or it ends the home. */
  readonly inMismatchedHome?: true;
  /** Stops the broker. It waits for the other requests, and must not wait for itself. */
  readonly stopsBroker?: true;
  /** The hint for a local client that calls this method of the owner's: what it can do instead. */
  readonly clientHint?: string;
}

/** A name or an id: ids stay unique, names are what people type. */
const client = shownName;

/** Of the methods that end what a record allows. */
const ownersEnd = { who: 'owner', effect: 'narrows', usesRecords: true } as const;

/** Of the methods that move grants from or to another machine. */
const ownersMove = { who: 'owner', effect: 'widens', usesRecords: true, mayPrompt: true } as const;

export const methods = {
  // Tokens
  'token.get': {
    who: 'client',
    effect: 'asks',
    usesRecords: true,
    params: tokenGet,
    result: z.union([tokenResult, keyResult]),
  },
  /** A proof of the key that a token of this program is bound to, for one request within what it may reach. */
  'token.prove': {
    who: 'client',
    effect: 'reads',
    usesRecords: true,
    params: tokenProve,
    result: tokenProveResult,
  },
  'token.reject': {
    who: 'client',
    effect: 'narrows',
    changesNoList: true,
    params: tokenReject,
    result: tokenRejectResult,
  },
  /** A yes opens an address in the person's browser. It gives nobody access. */
  'url.show': { who: 'client', effect: 'asks', usesRecords: true, params: urlShow, result: urlShowResult },
  /** How the broker itself would reach a server. Holds no secret, and gives nobody access. */
  'network.get': { who: 'client', effect: 'reads', params: networkGet, result: networkResult },
  /** At most what the program has, for a child run of its own; the answer has that run's key. */
  'lease.delegate': {
    who: 'client',
    effect: 'asks',
    usesRecords: true,
    params: leaseDelegate,
    result: leaseDelegateResult,
  },
  'lease.end': { who: 'client', effect: 'narrows', params: z.object({ clientId: id }), result: empty },
  'permission.release': {
    who: 'client',
    effect: 'narrows',
    usesRecords: true,
    params: permissionRelease,
    result: empty,
  },

  // Grants and sign-ins
  'grant.list': {
    who: 'any',
    effect: 'reads',
    isPolled: true,
    params: empty,
    result: z.object({ grants: z.array(grant) }),
  },
  'grant.explain': {
    who: 'any',
    effect: 'reads',
    params: grantNamed,
    result: z.object({ grants: z.array(explanation) }),
  },
  'grant.revoke': {
    who: 'owner',
    effect: 'narrows',
    mayPrompt: true,
    clientHint:
      'Other programs may use the grant. permission.release ends this program’s own permission; the person revokes with: keyturn revoke RESOURCE',
    params: grantNamed,
    result: z.object({ revoked: z.array(receipt) }),
  },
  /** Every grant that can move is marked as moved, and no longer refreshed here. */
  'grant.export': { ...ownersMove, ...moving.export },
  'grant.import': { ...ownersMove, ...moving.import },
  /** The grants that were exported are refreshed here again. */
  'grant.takeBack': { ...ownersMove, ...moving.takeBack },
  'login.start': {
    who: 'owner',
    effect: 'widens',
    usesRecords: true,
    signsIn: true,
    mayPrompt: true,
    params: loginStart,
    result: z.object({ grant }),
  },
  'login.answer': {
    who: 'owner',
    // At a desk this is its caller's own sign-in, which a card allowed: another client in it is registered at the
    // same server.
    effect: 'asks',
    signsIn: true,
    params: loginAnswer,
    result: empty,
  },

  // Local clients, their permissions and their questions
  'client.list': {
    who: 'owner',
    effect: 'reads',
    isPolled: true,
    params: empty,
    result: z.object({ clients: z.array(localClient) }),
  },
  'client.remove': {
    ...ownersEnd,
    params: z.object({ client }),
    result: empty,
  },
  'permission.set': {
    who: 'owner',
    effect: 'widens',
    usesRecords: true,
    params: permission.extend({ client, account: account.optional() }),
    result: empty,
  },
  'permission.end': {
    who: 'owner',
    effect: 'widens',
    usesRecords: true,
    params: z.object({ client, resource: url }),
    result: empty,
  },
  /** Folders whose project file may choose an account. */
  'folder.list': { who: 'owner', effect: 'reads', isPolled: true, params: empty, result: folderList },
  'folder.end': { ...ownersEnd, params: folderNamed, result: empty },
  'interaction.list': {
    who: 'owner',
    effect: 'reads',
    isPolled: true,
    inMismatchedHome: true,
    params: empty,
    result: z.object({ interactions: z.array(interaction) }),
  },
  'interaction.answer': { who: 'owner', effect: 'widens', params: interactionAnswer, result: empty },

  // Proxies: addresses for programs without a key
  'proxy.add': {
    who: 'owner',
    effect: 'widens',
    usesRecords: true,
    params: proxyAdd,
    result: z.object({ proxy }),
  },
  'proxy.list': {
    who: 'owner',
    effect: 'reads',
    usesRecords: true,
    params: empty,
    result: z.object({ proxies: z.array(proxy) }),
  },
  /** The address of before is nobody's from now on. */
  'proxy.rotate': {
    ...ownersEnd,
    params: proxyNamed,
    result: z.object({ proxy }),
  },
  /** The programs that came by it end with it. */
  'proxy.remove': {
    ...ownersEnd,
    params: proxyNamed,
    result: empty,
  },

  // Forwards: sockets for programs of another machine or of a sandbox
  /** It ends with this connection, which then gets `forward.ended`. */
  'forward.open': {
    who: 'owner',
    effect: 'widens',
    usesRecords: true,
    params: forwardOpen,
    result: forwardOpened,
  },
  'forward.list': { who: 'owner', effect: 'reads', isPolled: true, params: empty, result: forwardList },
  'forward.end': { who: 'owner', effect: 'narrows', params: forwardNamed, result: empty },

  // API keys, and which programs may have them
  'key.set': {
    who: 'owner',
    effect: 'widens',
    usesRecords: true,
    params: keySet,
    result: keyIsSet,
  },
  'key.list': {
    who: 'owner',
    effect: 'reads',
    isPolled: true,
    params: empty,
    result: z.object({ keys: z.array(keyListed) }),
  },
  'key.remove': {
    ...ownersEnd,
    params: z.object({ resource: url }),
    result: empty,
  },
  /** As `permission.set`, for the API key of an endpoint: a key has neither scopes nor accounts. */
  'key.permission.set': {
    who: 'owner',
    effect: 'widens',
    usesRecords: true,
    params: permission.omit({ scope: true }).extend({ client }),
    result: empty,
  },
  'key.permission.end': {
    who: 'owner',
    effect: 'widens',
    usesRecords: true,
    params: z.object({ client, resource: url }),
    result: empty,
  },

  // Clients of ours at authorization servers
  'registration.set': {
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
  'registration.list': {
    who: 'owner',
    effect: 'reads',
    isPolled: true,
    params: empty,
    result: z.object({ registrations: z.array(registered) }),
  },
  /** Refused with `conflict` while a grant needs the client. */
  'registration.remove': {
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
      desk: deskState,
    }),
  },
  'settings.set': {
    who: 'owner',
    effect: 'widens',
    /** Text counts as the boolean or number that it spells; `null` unsets. */
    params: z.object({ name: settingName, value: settingValue }),
    result: z.object({ inForce: z.literal(['now', 'nextStart']) }),
  },
  'override.set': {
    who: 'owner',
    effect: 'widens',
    usesRecords: true,
    /** The protected server's endpoint, or an issuer. */
    params: z.object({ server: url, name: overrideName, on: z.boolean() }),
    result: empty,
  },

  // The audit log
  'audit.tail': {
    who: 'owner',
    effect: 'reads',
    isPolled: true,
    inMismatchedHome: true,
    params: z.object({ count: z.int().min(1).max(1000) }),
    /** Oldest first; times in milliseconds, as they stand in the log. */
    result: z.object({ rows: z.array(auditRow) }),
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
  'audit.verify': {
    who: 'owner',
    effect: 'reads',
    inMismatchedHome: true,
    params: empty,
    result: auditVerdict,
  },

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
  /** What the backup holds may be a secret that stood in the open then. */
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
  'access.pause': {
    who: 'owner',
    effect: 'narrows',
    mayPrompt: true,
    params: z.object({ until: instant.optional() }),
    result: pause,
  },
  'access.resume': {
    who: 'owner',
    effect: 'widens',
    // The records are verified first: by then the vault has said whether a pause stands.
    usesRecords: true,
    mayPrompt: true,
    params: empty,
    result: empty,
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
  /** Answers when every rotated token is in the vault. `pid`: the process that ends now. */
  'daemon.stop': {
    who: 'owner',
    effect: 'narrows',
    inMismatchedHome: true,
    stopsBroker: true,
    params: empty,
    result: z.object({ pid: z.int().positive() }),
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

export type MethodName = keyof typeof methods;
export type ParamsOf<M extends MethodName> = z.output<(typeof methods)[M]['params']>;
export type ResultOf<M extends MethodName> = z.input<(typeof methods)[M]['result']>;

/** The methods that widen. */
export type WideningMethod = {
  [M in MethodName]: (typeof methods)[M]['effect'] extends 'widens' ? M : never;
}[MethodName];

/** True for the name of a method of the table. */
export function isMethod(value: string): value is MethodName {
  return Object.hasOwn(methods, value);
}

/** A method's row, with the flags that it leaves out. */
export function methodRow(method: MethodName): Method {
  return methods[method];
}

/** True for what gives somebody more than they had, or may, depending on its params. */
export function isWidening(method: MethodName): method is WideningMethod {
  return methods[method].effect === 'widens';
}

/** True for what may change a list that somebody shows. */
export function changesLists(method: MethodName): boolean {
  const { effect, changesNoList } = methodRow(method);
  return (effect === 'narrows' || effect === 'widens') && !changesNoList;
}

/** The notifications that a subscriber gets. Each says only that a list should be read again. */
export const notifications = ['grant.changed', 'interaction.changed', 'status.changed'] as const;
