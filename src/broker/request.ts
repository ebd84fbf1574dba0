/**
 * A request for a token or an API key: as the app asks it, as each step of the broker sees it, and what it gets. The ipc
 * layer has the names on the wire.
 */
import { RequestDeadline } from '../base/request-deadline.ts';
import { endpointOf, queryOf } from '../oauth/base/resource.ts';
import { union, withoutOfflineAccess } from '../oauth/base/scope.ts';
import type { BearerChallenge } from '../oauth/discovery/challenge.ts';
import type { WantedAccess } from './consent/current-permissions.ts';
import type { BrokerParts } from './parts.ts';
import type { AppProcess } from './approval-requests/app-process.ts';
import type { ApiKey } from './records/api-key.ts';
import type { Permission } from './records/permission.ts';

export interface TokenRequest {
  /** The app, as its connection proved. */
  readonly appId: string;
  readonly appProcess?: AppProcess | undefined;
  /** The MCP server's endpoint URL as the user knows it. */
  readonly resource: string;
  readonly scope?: readonly string[] | undefined;
  readonly account?: string | undefined;
  /** Milliseconds that the token must still be valid. */
  readonly minimumValidity?: number | undefined;
  /** A challenge that the MCP server sent to the app: a hint, never an order. */
  readonly challenge?: AppChallenge | undefined;
  /** What the app was doing, for the step-up limit; e.g. `POST /mcp tools/call`. */
  readonly operation?: string | undefined;
  /** `never`: answer at once; open no card and no browser. */
  readonly interaction: 'never' | 'allow';
  /** Milliseconds to wait for the user. */
  readonly timeout: number;
  /** When that time is over, the broker goes on without the app (detached-requests.ts). */
  readonly isDetached?: boolean | undefined;
  /** The broker goes on with it: nothing is handed out until the app asks again. */
  readonly isCallerGone?: true;
  /** Aborts when the app disconnects. */
  readonly signal: AbortSignal;
}

export interface HandedApiKey {
  readonly apiKey: ApiKey;
  /** The key without its scheme. */
  readonly value: string;
}

export interface AppChallenge {
  readonly status: 401 | 403;
  readonly bearer?: BearerChallenge;
}

export interface HandedToken {
  readonly accessToken: string;
  /** `DPoP`: the token is bound to a key of the broker, and each request with it needs a proof (`token.prove`). */
  readonly tokenType: 'Bearer' | 'DPoP';
  readonly tokenId: string;
  /** Milliseconds, steady. */
  readonly expiresAt: number;
  readonly scope: readonly string[];
  readonly resource: string;
  readonly account: string;
  readonly issuer: string;
}

/** RFC 6750 §3.1 says 403; some servers send 401. In both cases the token is valid but lacks scopes. */
export function isStepUp(challenge: AppChallenge | undefined): boolean {
  return challenge?.bearer?.error === 'insufficient_scope';
}

/** The server requires more scopes, but its challenge doesn't name them. */
export function isStepUpWithoutScopes(challenge: AppChallenge | undefined): boolean {
  return isStepUp(challenge) && (challenge?.bearer?.scope ?? []).length === 0;
}

/** The reported challenge. While the permission's scopes aren't fixed, the app must not choose them (invariant 11). */
export function hintOf(
  { challenge: told }: TokenRequest,
  { fixAtFirstToken = false }: Pick<Permission, 'fixAtFirstToken'>,
): { challenge?: BearerChallenge } {
  if (told?.bearer === undefined) return {};
  const { scope: _, ...unscoped } = told.bearer;
  return { challenge: fixAtFirstToken ? unscoped : told.bearer };
}

/** A request under way, from its start to its answer. */
export interface BegunRequest {
  readonly request: TokenRequest;
  /** The canonical form of `request.resource`, without its query (oauth/base/resource.ts). */
  readonly endpoint: string;
  /** What the app asks for, with the same `appId`. Names a sign-in once the user has chosen one for this request. */
  wanted: WantedAccess;
  readonly deadline: RequestDeadline;
  /** One sign-in for one request, besides a step-up. */
  hasSignedIn: boolean;
}

/** One try to answer it, under one permission. */
export interface PermittedRequest {
  readonly begun: BegunRequest;
  /** `begun.wanted` as it was when the try began; a step-up adds scopes. */
  readonly wanted: WantedAccess;
  readonly permission: Permission;
}

/** Spellings of endpoints that are kept. */
const maxEndpoints = 1000;

/** Begins requests. Apps name few servers, again and again: their canonical endpoints are kept, by what named them. */
export function begunRequests({
  clock,
  urlPolicy,
}: Pick<BrokerParts, 'clock' | 'urlPolicy'>): (request: TokenRequest) => BegunRequest {
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
    const { appId, appProcess, account, resource, interaction, isDetached } = request;
    const endpoint = endpointAt(resource);
    const scope = neededScope(request);
    return {
      request,
      endpoint,
      wanted: {
        appId,
        appProcess,
        account,
        endpoint,
        query: queryOf(resource),
        scope,
        interaction,
        isDetached,
      },
      deadline: new RequestDeadline(clock, request.timeout, request.signal),
      hasSignedIn: false,
    };
  };
}

/** The caller's scopes and those of an insufficient_scope challenge (RFC 6750 §3.1): the scopes that the token needs. */
function neededScope({ scope = [], challenge }: TokenRequest): string[] {
  const asked = isStepUp(challenge) ? union(scope, challenge?.bearer?.scope ?? []) : scope;
  return withoutOfflineAccess(asked);
}
