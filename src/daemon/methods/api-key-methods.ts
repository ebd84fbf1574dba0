/**
 * The owner's methods about API keys: setting one, what there is, whether one is the same, its end, and which apps may have it.
 *
 * Invariants: no answer and no error holds a key. A key is set only for a server that offers no sign-in, unless the
 * owner asked not to look. What ends a key ends the permissions for it; a new header or scheme ends them but for denials.
 */
import type { Broker } from '../../broker/broker.ts';
import { isAskedBy } from '../../broker/approval-requests/question.ts';
import { isSamePlace, apiKeyTarget, shownApiKey, type ApiKey } from '../../broker/records/api-key.ts';
import { requireApiKeyHeader } from '../../broker/records/api-key-header.ts';
import { wholeSeconds } from '../../base/clock.ts';
import { KeyturnError, RuleRefusal, shellOption, shellWord, Unreachable } from '../../base/errors.ts';
import type { ParamsOf, ResultOf } from '../../ipc/protocol/methods.ts';
import { offersOAuth } from '../../oauth/discovery/discovery.ts';
import { revokePermission } from './app-methods.ts';
import type { Handlers } from './services.ts';
import { keyPlace, permissionChange, requireKey } from '../approvals/widening.ts';

export const apiKeyMethods = {
  'apiKey.set': ({ broker }, _caller, params) => setKey(broker, params),

  'apiKey.list': ({ broker }) => ({
    apiKeys: broker.parts.apiKeys.shown().map((key) => keyAnswer(broker, key)),
  }),

  'apiKey.compare': async ({ broker }, _caller, { resource, header, scheme, value }) => {
    const endpoint = broker.exact(resource);
    const key = broker.parts.apiKeys.for(endpoint);
    if (!key || !isSamePlace(key, { endpoint, header, scheme })) return { same: false };
    return { same: await broker.parts.apiKeys.isValueOf(key, value) };
  },

  'apiKey.remove': async ({ broker }, _caller, { resource }) => {
    const { apiKeys, audit } = broker.parts;
    const key = requireKey(broker, resource);
    await removePermissionsFor(broker, key);
    await apiKeys.remove(key);
    await audit.record({ event: 'apiKey', outcome: 'removed', endpoint: key.endpoint });
    await broker.parts.items.tidy();
  },

  'apiKey.permission.set': async ({ broker }, _caller, params, approved) => {
    const { decided, expected } = approved ?? permissionChange(broker, params, keyPlace);
    // Race: while the card was open, the user may have set another key there, or removed it.
    if (decided.endpoint !== apiKeyTarget(requireKey(broker, params.resource)))
      throw anotherKey(params.resource);
    await broker.consent.decide({ ...decided, createdAt: broker.parts.clock.wall() }, expected);
  },

  'apiKey.permission.revoke': async ({ broker }, _caller, { app, resource }) => {
    const appId = broker.parts.apps.resolve(app);
    await revokePermission(broker, appId, apiKeyTarget(requireKey(broker, resource)), 'revoked');
  },
} satisfies Partial<Handlers>;

async function setKey(broker: Broker, params: ParamsOf<'apiKey.set'>): Promise<ResultOf<'apiKey.set'>> {
  const { apiKeys, audit, clock } = broker.parts;
  const { header, scheme, value, unchecked } = params;
  const endpoint = checkApiKey(broker, params);
  if (!unchecked) await requireNoSignIn(broker, endpoint, header);
  const before = apiKeys.for(endpoint);
  const place = { endpoint, header, scheme };
  const more = { setAt: clock.wall(), ...(unchecked ? { isUnchecked: true } : {}) };
  const ends = before && !isSamePlace(before, place) ? before : undefined;
  // First: a broker that is killed later must leave no permission for a key that is no more, since no list shows one.
  if (ends) await removePermissionsFor(broker, ends, ends);
  const key = await apiKeys.set(place, value, more);
  // Race: an app may have been allowed that key in the meantime.
  if (ends) await removePermissionsFor(broker, ends, key);
  const outcome = `${before ? 'replaced' : 'set'}${unchecked ? ', unchecked' : ''}`;
  await audit.record({ event: 'apiKey', outcome, endpoint });
  await broker.parts.items.tidy();
  return { replaced: before !== undefined, permissionsStay: before !== undefined && !ends };
}

/** The canonical endpoint, without asking a server. Throws `invalid_resource`, `invalid_request`, `insecure_url`. */
export function checkApiKey(
  broker: Broker,
  { resource, header }: Pick<ParamsOf<'apiKey.set'>, 'resource' | 'header'>,
): string {
  requireApiKeyHeader(header);
  return broker.exact(resource);
}

async function requireNoSignIn({ parts }: Broker, endpoint: string, header: string): Promise<void> {
  const place = header.toLowerCase() === 'authorization' ? [] : [shellOption('header', header)];
  const command = [`keyturn api-key set ${shellWord(endpoint)}`, ...place, '--unchecked'].join(' ');
  try {
    if (!(await offersOAuth(endpoint, parts.network(endpoint)))) return;
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    throw new Unreachable(error.reason, error.message, {
      rule: 'Before a key is set, the server is asked whether it offers a sign-in',
      hint: `${error.hint ?? 'Try again when the server answers.'} Or set the key without asking: ${command}`,
      cause: error,
    });
  }
  throw new RuleRefusal('oauth_offered', `${endpoint} offers a sign-in, so it needs no API key.`, {
    rule: 'Where a server offers OAuth, apps get short-lived tokens of a sign-in, not a key that lasts',
    hint: `Sign in: keyturn login ${shellWord(endpoint)}. If you want the key all the same: ${command}`,
  });
}

/** Withdraws the open requests for the key as well. The user's denials are for the key `next` then. */
async function removePermissionsFor(broker: Broker, key: ApiKey, next?: ApiKey): Promise<void> {
  const { permissions, temporaryPermissions, approvalRequests } = broker.parts;
  const target = apiKeyTarget(key);
  for (const { question } of approvalRequests.list())
    if (question.kind === 'allow' && isAskedBy(question, question.appId, target))
      broker.withdrawAt(question.appId, target);
  temporaryPermissions.endAllFor(target);
  await permissions.removeAllFor(target, next && apiKeyTarget(next));
}

function anotherKey(resource: string): KeyturnError {
  return new KeyturnError('conflict', `The API key for ${resource} is another one by now.`, {
    rule: 'What is set is what was shown when it was asked about',
    hint: 'Look at what there is (`keyturn api-key list`), and try again.',
  });
}

/** Verified or not: to list, never to act upon. */
function keyAnswer({ parts }: Broker, key: ApiKey): ResultOf<'apiKey.list'>['apiKeys'][number] {
  const { apiKeys, permissions, temporaryPermissions, apps, clock } = parts;
  const wall = clock.wall();
  const target = apiKeyTarget(key);
  const allowed = [...permissions.shownFor(target, wall), ...temporaryPermissions.forEndpoint(target, wall)];
  const rejectedAt = apiKeys.rejectedAt(key.id);
  return {
    resource: key.endpoint,
    ...shownApiKey(key),
    setAt: wholeSeconds(key.setAt),
    unchecked: key.isUnchecked || undefined,
    rejectedAt: rejectedAt && wholeSeconds(rejectedAt),
    apps: [...new Set(allowed.map(({ appId }) => apps.nameOf(appId)))],
  };
}
