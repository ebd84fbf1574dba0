/**
 * The methods of the wire as schemas: what each takes, what it answers, and who may ask.
 * The daemon's side only; local clients read answers with the guards of wire.ts.
 *
 * Invariant: a request reaches the broker only as the output of its `params` schema. Every text is
 * bounded. Unknown fields are dropped, so that a newer client can speak to an older broker.
 */
import * as z from 'zod';

import { asker, executable } from './asker-schema.ts';
import { auditRow, auditVerdict } from './audit-schema.ts';
import { explanation, grant, grantNamed, receipt, reset } from './grant-schema.ts';
import {
  authMethod,
  clientIdentifier,
  registered,
  registration,
  registrationGrant,
} from './registration-schema.ts';
import {
  account,
  day,
  empty,
  id,
  instant,
  name,
  overrideName,
  scope,
  seconds,
  state,
  url,
} from './values.ts';
import { desktopSession, passphrase, vaultState } from './vault-schema.ts';
import { longest, tokenPattern } from '../wire/wire.ts';

const challenge = z.object({
  status: z.literal([401, 403]),
  wwwAuthenticate: z.string().max(longest.challenge).optional(),
});

const accessToken = z.string().min(1).max(longest.token).regex(tokenPattern);

export const tokenResult = z.object({
  access_token: accessToken,
  token_type: z.string().min(1).max(longest.id),
  expires_at: instant,
  expires_in: instant,
  scope,
  resource: url,
  account,
  issuer: url,
  tokenId: id,
});

const tokenGet = z.object({
  resource: url,
  scope: scope.min(1).optional(),
  account: account.optional(),
  minimumValidity: seconds.optional(),
  challenge: challenge.optional(),
  operation: z.string().max(longest.operation).optional(),
  interaction: z.literal(['never', 'allow']).optional(),
  timeout: seconds.optional(),
});

const tokenReject = z
  .object({
    tokenId: id.optional(),
    access_token: accessToken.optional(),
    status: z.int().min(400).max(599),
    challenge: challenge.optional(),
    operation: z.string().max(longest.operation).optional(),
    /** The protected server took this very token before. */
    worked: z.boolean().optional(),
  })
  .refine(
    (params) => (params.tokenId === undefined) !== (params.access_token === undefined),
    'exactly one of tokenId and access_token names the refused token',
  );

export const tokenRejectResult = z.object({
  rejected: z.boolean(),
  token: tokenResult.optional(),
  retryAfter: seconds.optional(),
});

const permission = z.object({
  resource: url,
  scope: scope.optional(),
  until: instant.optional(),
  decision: z.literal(['allow', 'deny']),
});

const heldPermission = permission.extend({
  /** The accounts that the program works as there; absent until its first token. */
  accounts: z.array(account).optional(),
  /** The permission is for this run of the program only. */
  run: asker.optional(),
  /** And for one token. */
  once: z.literal(true).optional(),
});

const localClient = z.object({
  clientId: id,
  name,
  pairedAt: instant,
  lastUsedAt: instant.optional(),
  /** As the kernel told it at the pairing; for display. */
  executable: executable.optional(),
  /** What that says: of an interpreter not which program it ran. */
  file: z.literal(['attested', 'interpreter']).optional(),
  permissions: z.array(heldPermission),
});

/** `client` is a name or an id: ids stay unique, names are what people type. */
const client = name;

const overrides = z.array(z.object({ server: url, names: z.array(overrideName) }));

/** Seconds: a hundred years, beyond which "until you end it" is what was meant. */
const maxLease = 36_500 * day;

const aloneOnly = 'once and asBefore each stand alone';

const interactionAnswer = z.object({
  id,
  answer: z.literal(['yes', 'no', 'later']),
  /** Exactly these scopes in place of those that the question names. */
  scope: scope.min(1).optional(),
  /**
   * For the run that asked, for so many seconds, or both; or for one token of that run; or for as long as what
   * the program may do there already, as that stands when the answer is kept.
   */
  lease: z
    .object({
      run: z.literal(true).optional(),
      seconds: z.int().positive().max(maxLease).optional(),
      once: z.literal(true).optional(),
      asBefore: z.literal(true).optional(),
    })
    .refine(
      (lease) => (lease.once ?? lease.asBefore) === undefined || Object.keys(lease).length === 1,
      aloneOnly,
    )
    .optional(),
});

const settingName = z.string().regex(/^[A-Za-z][A-Za-z0-9.]{0,63}$/);
const settingText = z.string().max(longest.scope);
const settingValue = z.union([
  settingText,
  z.number(),
  z.boolean(),
  z.null(),
  z.array(settingText).max(longest.id),
]);

const setting = z.object({
  name: settingName,
  /** Absent: not set, and there is no default. A password in a URL is left out. */
  value: settingValue.optional(),
  default: settingValue.optional(),
  /** `vault`: the file says something else, which nobody confirmed. */
  source: z.literal(['file', 'environment', 'default', 'vault']),
  /** What the file or a variable says and doesn't count, because the vault doesn't vouch for it. */
  written: settingValue.optional(),
  isUnconfirmed: z.literal(true).optional(),
  /** A change is in force at once; else at the broker's next start. */
  live: z.boolean(),
});

/** A browser on this machine; one elsewhere, with its last address pasted back; or a code (RFC 8628). */
const signInMethod = z.literal(['browser', 'paste', 'device']);

/** A setting that was written otherwise than the vault has it. Passwords in URLs are left out. */
const unconfirmed = z.object({
  name: settingName,
  /** What was written; absent: it was unset. */
  value: settingValue.optional(),
  /** What counts in its place; absent: nothing. */
  held: settingValue.optional(),
  /** The value is the same, and the file that it names has another content. */
  isContent: z.literal(true).optional(),
});

const interaction = z.object({
  id,
  kind: z.literal(['allow', 'pair', 'login', 'device', 'account', 'command', 'settings']),
  /** Of the kind `command`: what it would widen, and below what of it the person has to know. */
  command: z
    .literal(['allow', 'endDenial', 'register', 'login', 'override', 'settings', 'unlock', 'passphrase'])
    .optional(),
  client: name.optional(),
  asker: asker.optional(),
  resource: url.optional(),
  issuer: url.optional(),
  scope: scope.optional(),
  /** Of `allow`: whose tokens a yes allows; absent where nobody has signed in yet. Of a sign-in: the label that it was asked for. Of `account`: who signed in; absent where the server didn't say. */
  account: account.optional(),
  /** Of `allow`, where the question is about the account: those that the program works as there now. Of the end of a denial: those that it is about. Of `account`: those that are signed in there. Of a sign-in under a new name: those beside it. */
  accounts: z.array(account).optional(),
  /** Of a sign-in by a page: what to try where the page shows an error. */
  hint: z.string().max(longest.scope).optional(),
  until: instant.optional(),
  /** Of a sign-in that a command wants to start. */
  method: signInMethod.optional(),
  registration: clientIdentifier.optional(),
  /** Of a client that would be entered, as in `registration.set`; `idp` is the identity provider's issuer. */
  grant: registrationGrant.optional(),
  authMethod: authMethod.optional(),
  redirectUri: url.optional(),
  idp: url.optional(),
  /** True where the client that was entered for that issuer would end. */
  replaces: z.boolean().optional(),
  override: overrideName.optional(),
  server: url.optional(),
  /** Without a value: it would be unset. A password in a URL is left out. */
  setting: z.object({ name: settingName, value: settingValue.optional() }).optional(),
  /** Of the kind `settings`: what was written outside Keyturn, and would count after a yes. */
  settings: z.array(unconfirmed).optional(),
  /** The issuer that the protected server named before, where it names another now. */
  formerIssuer: url.optional(),
  /**
   * The six digits of a pairing, or the code to type at the page of a sign-in on another device. At a desk that
   * code, and the address of a sign-in, are told to who started it and to the windows.
   */
  code: z.string().max(longest.id).optional(),
  /** Of a sign-in: the server did not take the client of the page before, and this page is of another one. Of one that a command wants to start: Keyturn would register anew there. */
  newClient: z.literal(true).optional(),
  /** Of a sign-in by a page: only a client that the owner enters could take the place of the one of this page. */
  replacedByHand: z.literal(true).optional(),
  /** Of a sign-in: a request of a program's, a command, or a window. */
  startedBy: z.literal(['program', 'command', 'window']).optional(),
  /** The page to open; an authorization URL has challenge and state in it, and no secret. */
  url: z.string().max(longest.challenge).optional(),
  /** The broker's own address that leads on to that page, for a browser on this machine. */
  startUrl: url.optional(),
  createdAt: instant,
  state,
});

const loginStart = z.object({
  resource: url,
  method: signInMethod.optional(),
  scope: scope.min(1).optional(),
  account: account.optional(),
  issuer: url.optional(),
  /** By a client that is registered anew, where the page of the one there is shows an error. */
  newClient: z.literal(true).optional(),
  timeout: seconds.optional(),
});

/** What the person says of a sign-in's page. */
const loginAnswer = z
  .object({
    id,
    /** The whole address that a browser elsewhere ended at. Holds a code: never logged. */
    redirect: z.string().min(1).max(longest.challenge).optional(),
    /** It shows an error where the sign-in should be. */
    isErrorPage: z.literal(true).optional(),
  })
  .refine(
    ({ redirect, isErrorPage }) => (redirect === undefined) !== (isErrorPage === undefined),
    'exactly one of redirect and isErrorPage',
  );

/** `here`: the app is the broker. `closed`: a desk's home whose app doesn't run. */
const deskState = z.literal(['unknown', 'none', 'here', 'closed', 'released']);

const status = z.object({
  version: z.string().max(longest.id),
  pid: z.int().positive(),
  home: z.string().max(longest.scope),
  vault: z.string().max(longest.id),
  /** Of a `sealed-file` vault. */
  vaultKey: z.literal(['passphrase', 'keychain']).optional(),
  vaultState,
  /** The user's own command; absent: the system's browser. */
  browser: settingText.optional(),
  insecureLoopback: z.boolean(),
  /** How many there are. */
  grants: z.int().nonnegative(),
  clients: z.int().nonnegative(),
  interactions: z.int().nonnegative(),
  overrides,
  /** The index of grants: how many were compared with the vault since the start, and whose line said something else. */
  index: z.object({
    checked: z.int().nonnegative(),
    differences: z.array(z.object({ grant: z.string().max(longest.id), what: settingText })),
    /** How many more there are. */
    more: z.int().nonnegative(),
  }),
  /** Files that count for nothing, were left as they are, and why. */
  unreadable: z.array(z.object({ file: settingText, why: z.string(), hint: z.string().optional() })),
  /** What the vault vouches for of this home. */
  homeState: z.object({
    /** `unchecked`: the vault was not needed yet. `passing`: a memory vault, which remembers nothing of it. */
    state: z.literal(['unchecked', 'checked', 'passing', 'strange']),
    desk: deskState,
    /** A card about the settings waits, and nothing goes to the network until it is answered. */
    isWaiting: z.boolean(),
    /** Why it is strange. */
    why: z.string().optional(),
    /** Settings whose written value isn't the vault's. At a desk, and in a desk's home, `held` counts; elsewhere `value`. */
    differing: z.array(unconfirmed),
  }),
  /** Settings that were recorded or changed, by name. */
  settings: z.record(settingName, settingValue),
  log: z.object({
    level: z.string().max(longest.id),
    /** Absent: the terminal. */
    file: settingText.optional(),
    /** False: it could not be written the last time. */
    ok: z.boolean(),
  }),
  audit: z.object({
    /** `plain`: the vault can't seal it. `waiting`: for the vault to be opened. */
    state: z.literal(['sealed', 'waiting', 'plain', 'failing']),
    /** Why it fails. */
    reason: z.string().max(longest.id).optional(),
  }),
  /** What the broker could not do to shield its process; empty where it did everything. */
  unshielded: z.array(settingText),
  /** Issuers whose clock is more than a minute from this machine's; `ahead` in seconds, negative for behind. */
  clocks: z.array(z.object({ issuer: url, ahead: z.int() })),
});

/** Who may call a method. `any`: the owner and local clients, each seeing what is theirs. */
export type Who = 'owner' | 'client' | 'any';

interface Method {
  readonly who: Who;
  readonly params: z.ZodType;
  readonly result: z.ZodType;
}

export const methods = {
  'token.get': { who: 'client', params: tokenGet, result: tokenResult },
  'token.reject': { who: 'client', params: tokenReject, result: tokenRejectResult },
  'permission.release': {
    who: 'client',
    params: z.object({ resource: url }),
    result: empty,
  },
  'grant.list': { who: 'any', params: empty, result: z.object({ grants: z.array(grant) }) },
  'grant.explain': {
    who: 'any',
    params: grantNamed,
    result: z.object({ grants: z.array(explanation) }),
  },
  'grant.revoke': { who: 'owner', params: grantNamed, result: z.object({ revoked: z.array(receipt) }) },
  'client.list': { who: 'owner', params: empty, result: z.object({ clients: z.array(localClient) }) },
  'client.remove': { who: 'owner', params: z.object({ client }), result: empty },
  'permission.set': {
    who: 'owner',
    params: permission.extend({ client, account: account.optional() }),
    result: empty,
  },
  'permission.end': { who: 'owner', params: z.object({ client, resource: url }), result: empty },
  'registration.set': {
    who: 'owner',
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
    params: empty,
    result: z.object({ registrations: z.array(registered) }),
  },
  /** Refused with `conflict` while a grant needs the client. */
  'registration.remove': {
    who: 'owner',
    params: z.object({ issuer: url, clientId: clientIdentifier }),
    result: empty,
  },
  'settings.get': {
    who: 'owner',
    params: empty,
    result: z.object({
      settings: z.record(settingName, settingValue),
      details: z.array(setting),
      desk: deskState,
    }),
  },
  'settings.set': {
    who: 'owner',
    /** Text counts as the boolean or number that it spells; `null` unsets. */
    params: z.object({ name: settingName, value: settingValue }),
    result: z.object({ inForce: z.literal(['now', 'nextStart']) }),
  },
  'interaction.list': {
    who: 'owner',
    params: empty,
    result: z.object({ interactions: z.array(interaction) }),
  },
  'interaction.answer': {
    who: 'owner',
    params: interactionAnswer,
    result: empty,
  },
  'login.answer': {
    who: 'owner',
    params: loginAnswer,
    result: empty,
  },
  'override.set': {
    who: 'owner',
    /** The protected server's endpoint, or an issuer. */
    params: z.object({ server: url, name: overrideName, on: z.boolean() }),
    result: empty,
  },
  'login.start': { who: 'owner', params: loginStart, result: z.object({ grant }) },
  'audit.tail': {
    who: 'owner',
    params: z.object({ count: z.int().min(1).max(1000) }),
    /** Oldest first; times in milliseconds, as they stand in the log. */
    result: z.object({ rows: z.array(auditRow) }),
  },
  'audit.verify': { who: 'owner', params: empty, result: auditVerdict },
  'vault.lock': { who: 'owner', params: empty, result: empty },
  'vault.unlock': {
    who: 'owner',
    params: z.object({ passphrase: passphrase.optional(), session: desktopSession.optional() }),
    result: empty,
  },
  'vault.passphrase': {
    who: 'owner',
    params: z.object({ current: passphrase, next: passphrase }),
    result: empty,
  },
  status: { who: 'owner', params: empty, result: status },
  'home.reset': {
    who: 'owner',
    /** `withoutVault`: go on where the vault is locked or broken, and nothing can be revoked. */
    params: z.object({ withoutVault: z.boolean().optional() }),
    result: reset,
  },
  /** Answers when every rotated token is in the vault. `pid`: the process that ends now. */
  'daemon.stop': { who: 'owner', params: empty, result: z.object({ pid: z.int().positive() }) },
  subscribe: { who: 'any', params: empty, result: empty },
} as const satisfies Record<string, Method>;

export type MethodName = keyof typeof methods;
export type ParamsOf<M extends MethodName> = z.output<(typeof methods)[M]['params']>;
export type ResultOf<M extends MethodName> = z.input<(typeof methods)[M]['result']>;

/** True for the name of a method of the table. */
export function isMethod(value: string): value is MethodName {
  return Object.hasOwn(methods, value);
}

/** What a subscriber is told; each says only that a list should be read again. */
export const notifications = ['grant.changed', 'interaction.changed', 'status.changed'] as const;
