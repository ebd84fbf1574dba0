/**
 * Explains why an app gets nothing without the user's approval: no permission, a denial, or no API key.
 *
 * Invariant: messages name the endpoint, the app, scopes and the account, never a token or a key.
 */
import { KeyturnError, moment, quoted, shellOption, shellWord } from '../../base/errors.ts';
import type { ApiKey } from '../records/api-key.ts';
import type { Permission } from '../records/permission.ts';
import type { SignIn } from '../records/sign-in.ts';

/** An app whose last card wasn't approved. `retryAfter` in seconds. `more`: what else ends the pause. */
export function askedTooSoon(name: string, retryAfter: number, more = ''): KeyturnError {
  return new KeyturnError(
    'rate_limited',
    `You did not approve a request of ${name} a moment ago, or ${name} withdrew it.`,
    {
      rule: 'Each request that is put off or withdrawn doubles the pause before the next one of the app, from 1 s to 5 min',
      hint: `Wait, then ask again.${more}`,
      retryAfter,
    },
  );
}

/** `signIn`: set if the refusal was only about its account. `by`: the permission that denies some of `scope`. */
export function consentDenied(
  name: string,
  endpoint: string,
  signIn: SignIn | undefined,
  { by, scope }: { readonly by?: Permission | undefined; readonly scope: readonly string[] } = { scope: [] },
): KeyturnError {
  const denied = scope.filter((one) => by?.deniedScope?.includes(one)).join(' ');
  const all = [...new Set([...(by?.scope ?? []), ...scope])].join(' ');
  const account = signIn ? `the account ${quoted(signIn.account)} at ${endpoint}` : `access to ${endpoint}`;
  const what = denied ? `the scope ${denied} at ${endpoint}` : account;
  const option = denied ? ` ${shellOption('scope', all)}${sameTime(by)}` : accountOption(signIn);
  return new KeyturnError('consent_denied', `The user denied ${name} ${what}.`, {
    rule: 'A denial is remembered until the user changes it',
    hint: `To change it: keyturn app allow ${shellWord(name)} ${shellWord(endpoint)}${option}`,
  });
}

export function apiKeyDenied(name: string, { endpoint }: ApiKey): KeyturnError {
  return new KeyturnError('consent_denied', `The user denied ${name} the API key for ${endpoint}.`, {
    rule: 'A denial is remembered until the user changes it',
    hint: `To change it: keyturn app allow ${shellWord(name)} ${shellWord(endpoint)} --api-key`,
  });
}

/** What became of a request that the user didn't approve. */
const unapproved = 'you denied it or did not answer.';
const deniedOnce = 'A denial that is not remembered is for one request, and the app may ask again';

/** `wasDismissed`: the user dismissed a card about it, or did not answer in time. */
export function apiKeyNotAllowed(name: string, { endpoint }: ApiKey, wasDismissed: boolean): KeyturnError {
  const what = `the API key for ${endpoint}`;
  return new KeyturnError(
    'consent_required',
    wasDismissed
      ? `${name} asked for ${what}; ${unapproved}`
      : `${name} asks for ${what}, which you have not allowed.`,
    {
      rule: wasDismissed ? deniedOnce : 'Each API key needs a permission; one for tokens gives no API key',
      hint: `Allow it with: keyturn app allow ${shellWord(name)} ${shellWord(endpoint)} --api-key`,
    },
  );
}

export function noApiKey(endpoint: string): KeyturnError {
  return new KeyturnError('not_found', `There is no API key for ${endpoint}.`, {
    hint: `\`keyturn api-key list\` shows the keys there are. To set one: keyturn api-key set ${shellWord(endpoint)} --api-key-stdin`,
  });
}

/** Tokens of a server where the user set a key and nobody signed in. */
export function apiKeyInstead(endpoint: string): KeyturnError {
  return new KeyturnError(
    'login_required',
    `You set an API key for ${endpoint}, but you are not signed in there.`,
    {
      hint: `Use the key: keyturn headers ${shellWord(endpoint)}, or keyturn exec. For tokens, sign in first: keyturn login ${shellWord(endpoint)}`,
    },
  );
}

/** The app reports a 401 for the key: another try brings the same answer. */
export function apiKeyRejected(endpoint: string): KeyturnError {
  return new KeyturnError('api_key_rejected', `${endpoint} rejected the API key.`, {
    rule: 'A rejected API key is not sent again until you replace it',
    hint: `Create a new key at the server, and set it: keyturn api-key set ${shellWord(endpoint)} --api-key-stdin`,
  });
}

interface MissingAccess {
  readonly name: string;
  readonly endpoint: string;
  readonly scope: readonly string[];
  /** What the app may already have there. */
  readonly current?: Permission | undefined;
  /** What it could have until its time was over. */
  readonly ended?: Permission | undefined;
  /** The sign-in that would be used, if the app may not use it yet. */
  readonly signIn: SignIn | undefined;
  /** The user dismissed a card about it, or did not answer in time. */
  readonly wasDismissed: boolean;
}

export function consentRequired({
  name,
  endpoint,
  scope,
  current,
  ended,
  signIn,
  wasDismissed,
}: MissingAccess): KeyturnError {
  const what = signIn
    ? `a token of the account ${quoted(signIn.account)} at ${endpoint}`
    : current
      ? `more than its permission for ${endpoint} covers`
      : `a token for ${endpoint}`;
  const scopes = scope.length > 0 ? ` ${shellOption('scope', scope.join(' '))}` : '';
  const problem = wasDismissed
    ? `${name} asked for ${what}; ${unapproved}`
    : `${name} asks for ${what}, ${ended?.until === undefined ? 'which you have not allowed' : `and its permission ended at ${moment(ended.until)}`}.`;
  const missing = signIn ? 'A permission names the accounts that it is for' : 'No permission, no token';
  return new KeyturnError('consent_required', problem, {
    rule: wasDismissed ? deniedOnce : missing,
    hint: `Allow it with: keyturn app allow ${shellWord(name)} ${shellWord(endpoint)}${signIn ? accountOption(signIn) : scopes}${sameTime(current ?? ended)}`,
  });
}

/** For as long as the user gave it; nothing for a permission without an end. */
function sameTime({ until, createdAt = 0 }: Partial<Permission> = {}): string {
  if (until === undefined) return '';
  // A command counts its time in whole seconds, and a little earlier.
  const step = until - createdAt < 60_000 ? 1 : 60;
  const seconds = Math.max(1, Math.round((until - createdAt) / 1000 / step) * step);
  const [length, unit] = units.find(([size]) => seconds % size === 0) ?? [1, 's'];
  return ` --for ${shellWord(`${seconds / length}${unit}`)}`;
}

/** Seconds. */
const units = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
] as const;

function accountOption(signIn: SignIn | undefined): string {
  return signIn ? ` ${shellOption('account', signIn.account)}` : '';
}
