/**
 * What the user of the Keyturn app is asked before a permission is set or a denial ends. Undefined: the request gives
 * no more than what is allowed already.
 */
import type { Broker } from '../../broker/broker.ts';
import type { ApprovalRequest } from '../../broker/questions/question.ts';
import { keySubject, shownKey } from '../../broker/records/api-key.ts';
import type { ApiKey } from '../../broker/records/api-key.ts';
import type { ParamsOf } from '../../ipc/protocol/methods.ts';
import { decisionOf, refusalOf, requireKey, widensKey, widensPermission } from './widening.ts';

export function permissionRequest(
  broker: Broker,
  params: ParamsOf<'permission.set'>,
): ApprovalRequest | undefined {
  const { clients } = broker.parts;
  const { clientId, endpoint, scope, until } = decisionOf(broker, params);
  if (!widensPermission(broker, params)) return undefined;
  if (params.decision === 'deny') return denialEndRequest(broker, clientId, endpoint, params.until);
  return {
    command: 'allow',
    clientName: clients.nameOf(clientId),
    endpoint,
    scope,
    account: params.account,
    until,
  };
}

type DenialEnd = Extract<ApprovalRequest, { readonly command: 'endDenial' }>;

/** `until`, in seconds: the denial would end then; absent: now. */
export function denialEndRequest(
  broker: Broker,
  clientId: string,
  endpoint: string,
  until?: number,
): DenialEnd | undefined {
  const refused = refusalOf(broker, clientId, endpoint);
  if (!refused) return undefined;
  return {
    command: 'endDenial',
    clientName: broker.parts.clients.nameOf(clientId),
    endpoint,
    scope: refused.scope,
    accounts: refused.accounts,
    ...(until === undefined ? {} : { until: until * 1000 }),
  };
}

export function keyPermissionRequest(
  broker: Broker,
  params: ParamsOf<'apiKey.permission.set'>,
): ApprovalRequest | undefined {
  if (!widensKey(broker, params)) return undefined;
  const key = requireKey(broker, params.resource);
  const clientId = broker.parts.clients.resolve(params.app);
  if (params.decision === 'deny') return keyDenialEndRequest(broker, clientId, key, params.until);
  return {
    command: 'allow',
    clientName: broker.parts.clients.nameOf(clientId),
    endpoint: key.endpoint,
    key: shownKey(key),
    ...(params.until === undefined ? {} : { until: params.until * 1000 }),
  };
}

export function keyDenialEndRequest(
  broker: Broker,
  clientId: string,
  key: ApiKey,
  until?: number,
): ApprovalRequest | undefined {
  const request = denialEndRequest(broker, clientId, keySubject(key), until);
  return request && { ...request, endpoint: key.endpoint, key: shownKey(key) };
}
