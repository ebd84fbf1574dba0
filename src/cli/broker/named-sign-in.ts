/**
 * A sign-in that a user names: by its id or the beginning of it, or by the endpoint of its server. If nothing has
 * that name, the error says what a name is and lists similar ones.
 */
import { KeyturnError, quoted, reasonOf, shellWord } from '../../base/errors.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { endpointOf, exactEndpoint } from '../../oauth/base/resource.ts';
import { signInFrom, wholeId } from '../terminal/arguments.ts';
import { ask, call } from './request.ts';
import { connectIfRunning } from './connection.ts';

type ListedSignIn = Pick<ResultOf<'signIn.list'>['signIns'][number], 'id' | 'endpoint' | 'account'>;
type ListedApiKey = Pick<ResultOf<'apiKey.list'>['apiKeys'][number], 'resource'>;

/**
 * Runs `work` for what `text` names. Throws what it throws, and `not_found` or `invalid_resource` with what is near;
 * a refusal of `account` where `text` does name sign-ins stays as it is.
 */
export async function withSignIn<T>(
  text: string,
  account: string | undefined,
  work: (named: ReturnType<typeof signInFrom> & { readonly account?: string }) => Promise<T>,
): Promise<T> {
  const whole = await wholeSignInId(text);
  try {
    return await work({ ...signInFrom(whole), account });
  } catch (error) {
    if (!(error instanceof KeyturnError) || !isAboutName(error, text)) throw error;
    const { signIns, apiKeys } = await listed();
    if (account !== undefined && error.reason === 'not_found' && isNameOfAny(text, signIns)) throw error;
    const key = keyNamed(text, apiKeys);
    throw key ? onlyKeyNamed(error, key) : noSignInNamed(error, text, near(text, signIns));
  }
}

/**
 * Only what can be the beginning of an id costs a look at the list. Starts a broker where none runs, as `work` will.
 * Throws `conflict` where several begin so.
 */
async function wholeSignInId(text: string): Promise<string> {
  if (!/^[0-9a-f]{4,15}$/.test(text)) return text;
  const { signIns } = await ask('signIn.list', {});
  const ids = signIns.map(({ id }) => id);
  return wholeId(text, ids);
}

/** A URL that is no address of a server has an error of its own. */
function isAboutName(error: KeyturnError, text: string): boolean {
  const reason = reasonOf(error);
  return reason === 'not_found' || (reason === 'invalid_resource' && !text.includes(':'));
}

function isNameOfAny(text: string, signIns: readonly ListedSignIn[]): boolean {
  const named = signInFrom(text);
  if ('id' in named) return signIns.some(({ id }) => id === named.id);
  const endpoint = endpointOf(named.resource, { allowInsecureLoopback: true });
  return signIns.some((signIn) => signIn.endpoint === endpoint);
}

function noSignInNamed(error: KeyturnError, text: string, found: readonly ListedSignIn[]): KeyturnError {
  const like = found.map(({ id, endpoint, account }) => `${id} (${endpoint}, account ${account ?? '-'})`);
  const what =
    'An id is 16 hexadecimal digits, as `keyturn sign-in list` shows them; a server is named by its whole URL.';
  const problem =
    error.reason === 'not_found'
      ? error.message
      : `${quoted(text)} is neither the id of a sign-in nor a URL.`;
  return new KeyturnError(error.reason, problem, {
    hint: like.length === 0 ? what : `${what} There is ${like.join('; ')}.`,
  });
}

/** The API key that a URL of its server names. Throws `invalid_resource`. */
export function keyNamed<K extends ListedApiKey>(text: string, apiKeys: readonly K[]): K | undefined {
  if (!URL.canParse(text)) return undefined;
  const policy = { allowInsecureLoopback: true };
  const keyOf = (name: string): K | undefined => apiKeys.find(({ resource }) => resource === name);
  return keyOf(exactEndpoint(text, policy)) ?? keyOf(endpointOf(text, policy));
}

/** The URLs of all API keys for this endpoint, each with its query if it has one. Throws `invalid_resource`. */
export async function apiKeyUrlsAt(url: string): Promise<string[]> {
  const policy = { allowInsecureLoopback: true };
  const endpoint = endpointOf(url, policy);
  const { apiKeys } = await ask('apiKey.list', {});
  return apiKeys.map(({ resource }) => resource).filter((one) => endpointOf(one, policy) === endpoint);
}

function onlyKeyNamed({ reason, message }: KeyturnError, { resource }: ListedApiKey): KeyturnError {
  return new KeyturnError(reason, message, {
    hint: `There is an API key for this server: keyturn sign-in show ${shellWord(resource)}. To remove it: keyturn api-key remove ${shellWord(resource)}`,
  });
}

interface Listed {
  readonly signIns: readonly ListedSignIn[];
  readonly apiKeys: readonly ListedApiKey[];
}

/** All sign-ins and API keys; none if no broker runs, or if it can't list them. */
async function listed(): Promise<Listed> {
  const nothing: Listed = { signIns: [], apiKeys: [] };
  const connection = await connectIfRunning().catch(() => undefined);
  if (!connection) return nothing;
  try {
    const { signIns } = await call(connection, 'signIn.list', {});
    return { signIns, apiKeys: (await call(connection, 'apiKey.list', {})).apiKeys };
  } catch {
    return nothing;
  } finally {
    connection.close();
  }
}

/** As many as a user looks through. */
const maxNamed = 5;

/** Digits that an id has in common with a mistyped or shortened one. */
const sharedStart = 4;

/**
 * Those that `text` may have meant: an id that begins alike or differs in a digit or two, a server of the same host,
 * or a part of a name.
 */
export function near(text: string, signIns: readonly ListedSignIn[]): ListedSignIn[] {
  const host = URL.parse(text)?.host;
  const isNear = ({ id, endpoint, account = '' }: ListedSignIn): boolean => {
    if (host !== undefined) return URL.parse(endpoint)?.host === host;
    if (text.length < sharedStart) return false;
    if (endpoint.includes(text) || account.includes(text)) return true;
    return id.startsWith(text.slice(0, sharedStart)) || differing(id, text) <= 2;
  };
  return signIns.filter(isNear).slice(0, maxNamed);
}

function differing(one: string, other: string): number {
  if (one.length !== other.length) return Infinity;
  return Array.from(one).filter((letter, index) => letter !== other[index]).length;
}
