/** A token request on its way, as every step of it sees it. */
import { requestDeadline } from '../base/request-deadline.ts';
import type { RequestDeadline } from '../base/request-deadline.ts';
import { endpointOf, queryOf } from '../oauth/base/resource.ts';
import { union, withoutOfflineAccess } from '../oauth/base/scope.ts';
import type { AccessRequest } from './consent/current-permissions.ts';
import type { BrokerParts } from './parts.ts';
import { isStepUp } from './questions/token-request.ts';
import type { TokenRequest } from './questions/token-request.ts';
import type { Permission } from './records/permission.ts';

export interface PendingRequest {
  readonly request: TokenRequest;
  readonly endpoint: string;
  /** What the answer must carry. Names a grant once the person has chosen one for this request. */
  access: AccessRequest;
  readonly deadline: RequestDeadline;
  /** One sign-in for one request, besides a step-up. */
  hasSignedIn: boolean;
}

/** One try to answer it, under one permission. */
export interface PermittedRequest {
  readonly pending: PendingRequest;
  readonly access: AccessRequest;
  readonly permission: Permission;
}

/** Spellings of endpoints that are kept. */
const maxEndpoints = 1000;

/** Begins requests. Apps name few servers, again and again: their canonical endpoints are kept, by what named them. */
export function pendingRequests({
  clock,
  urlPolicy,
}: Pick<BrokerParts, 'clock' | 'urlPolicy'>): (request: TokenRequest) => PendingRequest {
  const endpoints = new Map<string, string>();
  const endpointAt = (resource: string): string => {
    const known = endpoints.get(resource);
    if (known !== undefined) return known;
    const endpoint = endpointOf(resource, urlPolicy);
    if (endpoints.size >= maxEndpoints) endpoints.clear();
    endpoints.set(resource, endpoint);
    return endpoint;
  };
  return (request) => {
    const { clientId, asker, account, resource, interaction, isDetached } = request;
    const endpoint = endpointAt(resource);
    const scope = neededScope(request);
    return {
      request,
      endpoint,
      access: {
        clientId,
        asker,
        account,
        endpoint,
        query: queryOf(resource),
        scope,
        interaction,
        isDetached,
      },
      deadline: requestDeadline(clock, request.timeout, request.signal),
      hasSignedIn: false,
    };
  };
}

/**
 * The caller's scopes and those of an insufficient_scope challenge (RFC 6750 §3.1): the scopes that the token needs.
 */
function neededScope({ scope = [], challenge }: TokenRequest): string[] {
  const asked = isStepUp(challenge) ? union(scope, challenge?.bearer?.scope ?? []) : scope;
  return withoutOfflineAccess(asked);
}
