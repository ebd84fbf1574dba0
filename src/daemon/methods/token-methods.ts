/** The methods by which an app gets, rejects and gives up tokens. */
import type { Broker } from '../../broker/broker.ts';
import { noApiKey } from '../../broker/refusals/permission-refusals.ts';
import type { AppChallenge, HandedApiKey, HandedToken, TokenRequest } from '../../broker/request.ts';
import { isApiKeyTarget, apiKeyTarget } from '../../broker/records/api-key.ts';
import { wholeSeconds } from '../../base/clock.ts';
import type { ParamsOf, ResultOf } from '../../ipc/protocol/methods.ts';
import { KeyturnError, reasonOf, shellWord } from '../../base/errors.ts';
import { type MaybePromise, mapMaybe } from '../../broker/maybe-promise.ts';
import { bearerChallenge } from '../../oauth/discovery/challenge.ts';
import { formatScope, parseScope } from '../../oauth/base/scope.ts';
import type { Handlers } from './services.ts';
import { denialOf } from '../approvals/widening.ts';
import { brokerAppId } from '../apps/app-processes.ts';
import { revokePermission } from './app-methods.ts';

/** How long `token.get` waits for the user unless told otherwise, in seconds. */
const defaultTimeout = 300;

export const tokenMethods = {
  'token.get': ({ broker, processes }, caller, params) => {
    const { scope, minimumValidity, challenge } = params;
    const request: TokenRequest = {
      appId: brokerAppId(caller),
      appProcess: processes.of(caller),
      resource: params.resource,
      scope: scope === undefined ? undefined : parseScope(scope),
      account: params.account,
      minimumValidity: minimumValidity === undefined ? undefined : minimumValidity * 1000,
      challenge: challenge && challengeFrom(challenge),
      operation: params.operation,
      // Non-interactive by default: callers opt in to prompts.
      interaction: params.interaction ?? 'never',
      timeout: (params.timeout ?? defaultTimeout) * 1000,
      isDetached: params.detached,
      signal: caller.signal,
    };
    const { kinds } = params;
    // An app that doesn't name keys gets none, whatever it may have.
    const ask = (asked: TokenRequest): MaybePromise<Answer> =>
      kinds?.includes('apiKey') ? keyOrToken(broker, asked, kinds) : tokenFor(broker, asked);
    return params.detached ? broker.detached.ask(request, ask) : ask(request);
  },

  'token.prove': ({ broker }, caller, { nonce, ...request }) => {
    const asked = { ...request, appId: brokerAppId(caller) };
    return { proof: broker.proofs.prove(nonce === undefined ? asked : { ...asked, nonce }) };
  },

  'token.reject': async ({ broker }, caller, params) => {
    if (params.apiKeyId !== undefined) {
      if (params.status === 401) await broker.keyRequests.reject(brokerAppId(caller), params.apiKeyId);
      return { rejected: false };
    }
    // The schema refuses a request that names neither or both.
    const token =
      params.tokenId === undefined ? { accessToken: params.access_token ?? '' } : { tokenId: params.tokenId };
    // Only a 401 says that the token itself is bad; a 403 wants another scope, not another token.
    if (params.status !== 401) return { rejected: false };
    const { operation, worked: hasWorked } = params;
    const challenge = params.challenge && challengeFrom(params.challenge);
    const rejection = { appId: brokerAppId(caller), token, operation, hasWorked, challenge };
    const { isReplaced, pause } = broker.rejections.reject(rejection);
    return { rejected: isReplaced, retryAfter: pause && Math.ceil(pause / 1000) };
  },

  'url.show': async ({ broker, processes }, caller, { resource, url, message = '' }) => {
    const appId = brokerAppId(caller);
    const appProcess = processes.of(caller);
    return {
      action: await broker.showUrl({ appId, appProcess, resource, url, message, signal: caller.signal }),
    };
  },

  'network.get': (services, _caller, { resource }) => services.network(services.broker.canonical(resource)),

  'permission.release': async ({ broker }, caller, { resource, kinds = ['token'] }) => {
    const appId = brokerAppId(caller);
    const endpoint = broker.canonical(resource);
    const targets = targetsAt(broker, { endpoint, url: broker.exact(resource) }, kinds);
    if (targets.length === 0) throw noApiKey(endpoint);
    const refused = targets.find((target) => denialOf(broker, appId, target));
    if (refused !== undefined) throw deniedByUser(broker, appId, { endpoint, target: refused });
    await releaseAll(broker, appId, targets);
  },
} satisfies Partial<Handlers>;

type Answer = ResultOf<'token.get'>;

/** At once if the token is in memory. */
function tokenFor(broker: Broker, request: TokenRequest): MaybePromise<Answer> {
  return mapMaybe(broker.tokenRequests.answer(request), (given) => tokenAnswer(broker, given));
}

async function keyOrToken(
  broker: Broker,
  request: TokenRequest,
  kinds: NonNullable<ParamsOf<'token.get'>['kinds']>,
): Promise<Answer> {
  const key = await broker.keyRequests.answer(request);
  if (key) return keyAnswer(key);
  if (!kinds.includes('token')) throw noApiKey(broker.canonical(request.resource));
  return tokenFor(broker, request);
}

/** What permissions of these kinds stand under; none for a key where there is no key. */
function targetsAt(
  { parts }: Broker,
  { endpoint, url }: { readonly endpoint: string; readonly url: string },
  kinds: NonNullable<ParamsOf<'permission.release'>['kinds']>,
): string[] {
  const key = kinds.includes('apiKey') ? parts.apiKeys.forUrl(url) : undefined;
  return [...(kinds.includes('token') ? [endpoint] : []), ...(key ? [apiKeyTarget(key)] : [])];
}

/** Throws `not_found` if the app has none of them. */
async function releaseAll(broker: Broker, appId: string, targets: readonly string[]): Promise<void> {
  const missing: unknown[] = [];
  for (const target of targets) {
    try {
      await revokePermission(broker, appId, target, 'released');
    } catch (error) {
      if (reasonOf(error) !== 'not_found') throw error;
      missing.push(error);
    }
  }
  if (missing.length === targets.length) throw missing[0];
}

function keyAnswer({ apiKey: key, value }: HandedApiKey): ResultOf<'token.get'> {
  const { id, endpoint, header, scheme } = key;
  return {
    kind: 'apiKey',
    header,
    scheme,
    value: scheme === undefined ? value : `${scheme} ${value}`,
    resource: endpoint,
    apiKeyId: id,
  };
}

function tokenAnswer(broker: Broker, token: HandedToken): Answer {
  const { clock } = broker.parts;
  const left = token.expiresAt - clock.now();
  const end = Number.isFinite(left)
    ? {
        expires_at: wholeSeconds(Math.round(left + clock.wall())),
        expires_in: wholeSeconds(Math.max(0, left)),
      }
    : {};
  return {
    access_token: token.accessToken,
    token_type: token.tokenType,
    ...end,
    scope: formatScope(token.scope),
    resource: token.resource,
    account: token.account,
    issuer: token.issuer,
    tokenId: token.tokenId,
  };
}

function deniedByUser(
  { parts }: Broker,
  appId: string,
  { endpoint, target }: { readonly endpoint: string; readonly target: string },
): KeyturnError {
  const name = parts.apps.nameOf(appId);
  const what = isApiKeyTarget(target) ? 'the API key for' : 'something at';
  return new KeyturnError('not_permitted', `The user denied ${name} ${what} ${endpoint}.`, {
    rule: 'A denial is remembered until the user ends it; ending the permission would end it too',
    hint: `The user ends both with: keyturn app revoke ${shellWord(name)} ${shellWord(endpoint)}`,
  });
}

function challengeFrom({
  status,
  wwwAuthenticate,
}: {
  status: 401 | 403;
  wwwAuthenticate?: string | undefined;
}): AppChallenge {
  const bearer = wwwAuthenticate === undefined ? undefined : bearerChallenge(wwwAuthenticate);
  return bearer === undefined ? { status } : { status, bearer };
}
