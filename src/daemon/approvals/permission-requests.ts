/**
 * What the user of the Keyturn app is asked before a permission is set or a denial ends. Undefined: the request gives
 * no more than what is allowed already.
 */
import type { Broker } from '../../broker/broker.ts';
import type { CommandApproval } from '../../broker/approval-requests/question.ts';
import { apiKeySubject, shownApiKey } from '../../broker/records/api-key.ts';
import type { ApiKey } from '../../broker/records/api-key.ts';
import type { ParamsOf } from '../../ipc/protocol/methods.ts';
import { decisionOf, denialOf, requireKey, widensApiKey, widensPermission } from './widening.ts';

export function permissionRequest(
  broker: Broker,
  params: ParamsOf<'permission.set'>,
): CommandApproval | undefined {
  const { apps } = broker.parts;
  const { appId, endpoint, scope, until } = decisionOf(broker, params);
  if (!widensPermission(broker, params)) return undefined;
  if (params.decision === 'deny') return denialEndRequest(broker, appId, endpoint, params.until);
  return {
    command: 'allow',
    appName: apps.nameOf(appId),
    endpoint,
    scope,
    account: params.account,
    until,
  };
}

type DenialEnd = Extract<CommandApproval, { readonly command: 'endDenial' }>;

/** `until`, in seconds: the denial would end then; absent: now. */
export function denialEndRequest(
  broker: Broker,
  appId: string,
  endpoint: string,
  until?: number,
): DenialEnd | undefined {
  const denial = denialOf(broker, appId, endpoint);
  if (!denial) return undefined;
  return {
    command: 'endDenial',
    appName: broker.parts.apps.nameOf(appId),
    endpoint,
    scope: denial.scope,
    accounts: denial.accounts,
    ...(until === undefined ? {} : { until: until * 1000 }),
  };
}

export function keyPermissionRequest(
  broker: Broker,
  params: ParamsOf<'apiKey.permission.set'>,
): CommandApproval | undefined {
  if (!widensApiKey(broker, params)) return undefined;
  const key = requireKey(broker, params.resource);
  const appId = broker.parts.apps.resolve(params.app);
  if (params.decision === 'deny') return keyDenialEndRequest(broker, appId, key, params.until);
  return {
    command: 'allow',
    appName: broker.parts.apps.nameOf(appId),
    endpoint: key.endpoint,
    apiKey: shownApiKey(key),
    ...(params.until === undefined ? {} : { until: params.until * 1000 }),
  };
}

export function keyDenialEndRequest(
  broker: Broker,
  appId: string,
  key: ApiKey,
  until?: number,
): CommandApproval | undefined {
  const request = denialEndRequest(broker, appId, apiKeySubject(key), until);
  return request && { ...request, endpoint: key.endpoint, apiKey: shownApiKey(key) };
}
