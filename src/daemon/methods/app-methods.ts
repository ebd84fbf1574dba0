/**
 * The owner's methods about apps: the paired ones, their permissions, the proxies by which programs without a key come,
 * and the forwards by which programs elsewhere do.
 */
import type { Broker } from '../../broker/broker.ts';
import { permissionRow } from '../../broker/consent/permission-changes.ts';
import { KeyturnError } from '../../base/errors.ts';
import { appAnswers } from './answers.ts';
import type { Handlers, Services } from './services.ts';
import { requireUnchanged, permissionChange, denialOf } from '../approvals/widening.ts';

export const appMethods = {
  'app.list': ({ broker }) => ({ apps: appAnswers(broker) }),

  'app.remove': (services, _caller, { app }) => removeApp(services, services.broker.parts.apps.resolve(app)),

  'permission.set': async ({ broker }, _caller, params, approved) => {
    const change = approved ?? permissionChange(broker, params);
    const decided = requireUnchanged(broker, params, change);
    await broker.consent.decide(decided, change.expected);
    broker.userActed(decided.endpoint);
  },

  'permission.revoke': async ({ broker }, _caller, { app, resource }) => {
    const appId = broker.parts.apps.resolve(app);
    await revokePermission(broker, appId, broker.canonical(resource), 'revoked');
  },

  'proxy.add': async ({ proxies }, _caller, params) => ({ proxy: await proxies.add(params) }),

  'proxy.list': ({ proxies }) => ({ proxies: proxies.list() }),

  'proxy.rotate': async ({ proxies }, _caller, { proxy }) => ({ proxy: await proxies.rotate(proxy) }),

  'proxy.remove': ({ proxies }, _caller, { proxy }) => proxies.remove(proxy),

  'forward.open': async ({ forwards }, caller, params) => ({ forward: await forwards.open(caller, params) }),

  'forward.list': ({ forwards }) => ({ forwards: forwards.list() }),

  'forward.end': ({ forwards }, _caller, { forward }) => forwards.end(forward),
} satisfies Partial<Handlers>;

/** Unpairs an app: its permissions, its key and its connections end. */
export async function removeApp(
  {
    broker,
    closeConnectionsOf,
    removeKeyOf,
  }: Pick<Services, 'broker' | 'closeConnectionsOf' | 'removeKeyOf'>,
  id: string,
): Promise<void> {
  const { apps, permissions, temporaryPermissions, audit } = broker.parts;
  const name = apps.nameOf(id);
  temporaryPermissions.endAllOf(id);
  broker.withdrawAllOf(id);
  await permissions.removeAllOf(id);
  await apps.remove(id);
  await audit.record({ event: 'app', outcome: 'removed', app: name });
  closeConnectionsOf(id);
  await removeKeyOf(id);
}

/**
 * `endpoint`: what the permission is stored under, for an API key its target.
 *
 * Where the user denied nothing by now, a denial that comes meanwhile stays. Throws `conflict` then, and
 * `not_found` if there is none.
 */
export async function revokePermission(
  broker: Broker,
  appId: string,
  endpoint: string,
  outcome: string,
): Promise<void> {
  const { permissions, temporaryPermissions, audit, apps, apiKeys } = broker.parts;
  const isRefused = denialOf(broker, appId, endpoint) !== undefined;
  const from = isRefused ? undefined : permissions.asRead({ appId, endpoint });
  const wasTemporary = temporaryPermissions.end(appId, endpoint);
  const wasKept = await permissions.revoke(appId, endpoint, from);
  if (!wasTemporary && !wasKept) {
    const what = apiKeys.shownOf(endpoint)
      ? `the API key for ${apiKeys.shownOf(endpoint)?.endpoint}`
      : endpoint;
    throw new KeyturnError('not_found', `${apps.nameOf(appId)} has no permission for ${what}.`, {
      hint: "`keyturn app list` shows an app's permissions.",
    });
  }
  broker.withdrawAt(appId, endpoint);
  await audit.record({ ...permissionRow(apiKeys, endpoint, outcome), app: apps.nameOf(appId) });
}
