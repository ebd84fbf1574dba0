/**
 * `token.get` for an API key: permission → value → answer.
 *
 * Invariants: no permission for this very key, no key. A permission for tokens of the same endpoint gives none. From
 * the look-up of the permission to the answer nothing waits; after a step that waits, the request starts again.
 */
import { reasonOf } from '../base/errors.ts';
import { DeadlineExceeded, RequestDeadline } from '../base/request-deadline.ts';
import { exactEndpoint } from '../oauth/base/resource.ts';
import type { Consent } from './consent/consent.ts';
import { coveringPermissions, type WantedAccess } from './consent/current-permissions.ts';
import type { BrokerParts } from './parts.ts';
import type { HandedApiKey, TokenRequest } from './request.ts';
import { apiKeyTarget, type ApiKey } from './records/api-key.ts';
import type { Permission } from './records/permission.ts';
import { refusalAtDeadline } from './refusals/pending-refusals.ts';
import { apiKeyRejected, noApiKey } from './refusals/permission-refusals.ts';

interface ApiKeyRequest {
  readonly endpoint: string;
  readonly request: TokenRequest;
  readonly deadline: { readonly signal: AbortSignal };
}

export class ApiKeyRequests {
  readonly #parts: BrokerParts;
  readonly #consent: Consent;
  /** By key, ids of the apps that received it since the start. */
  readonly #handedTo = new Map<string, Set<string>>();

  constructor(parts: BrokerParts, consent: Consent) {
    this.#parts = parts;
    this.#consent = consent;
  }

  /** Undefined: the endpoint has no API key. Throws `consent_denied`, `consent_required`, `api_key_rejected`, and what the vault throws. */
  async answer(request: TokenRequest): Promise<HandedApiKey | undefined> {
    const { apiKeys, urlPolicy, clock } = this.#parts;
    const endpoint = exactEndpoint(request.resource, urlPolicy);
    const key = apiKeys.forUrl(endpoint);
    if (!key) return undefined;
    const deadline = new RequestDeadline(clock, request.timeout, request.signal);
    try {
      return await this.#serve({ endpoint, request, deadline });
    } catch (error) {
      const { approvalRequests, isKeyturnApp } = this.#parts;
      // The card names the endpoint of the key, which may have no query.
      const waited = { appId: request.appId, endpoint: key.endpoint, isKeyturnApp };
      const isLate = error instanceof DeadlineExceeded;
      const refusal = isLate ? refusalAtDeadline(approvalRequests.list(), waited) : error;
      const outcome = reasonOf(refusal);
      // No card was opened in time: then nobody refused, as in token-requests.ts.
      if (!isLate || outcome !== 'authorization_server_unreachable')
        this.#note(request, endpoint, { event: 'refused', outcome: `key: ${outcome}` });
      throw refusal;
    } finally {
      deadline.end();
    }
  }

  /** Marks the key for the user's lists. Nothing is replaced: only the user can. */
  async reject(appId: string, keyId: string): Promise<void> {
    const { apiKeys, audit, apps, clock } = this.#parts;
    const key = apiKeys.byId(keyId);
    if (!key || !this.#handedTo.get(keyId)?.has(appId)) return;
    if (!apiKeys.noteRejected(keyId, clock.wall())) return;
    const app = apps.nameOf(appId);
    await audit.record({ event: 'apiKey', outcome: 'rejected by the server', app, endpoint: key.endpoint });
  }

  /** Each turn waits for a user or for the vault, so that it never spins. */
  async #serve(asked: ApiKeyRequest): Promise<HandedApiKey> {
    const { endpoint, request, deadline } = asked;
    const { apiKeys, pause } = this.#parts;
    for (;;) {
      // First, and again after each wait: the user may have paused meanwhile.
      pause.throwIfPaused();
      // Read again each time: the user may have set another one meanwhile, or removed it.
      const key = apiKeys.forUrl(endpoint);
      if (!key) throw noApiKey(endpoint);
      const wanted = wantedKey(key, request);
      const permission = coveringPermissions(this.#parts, wanted)?.[0];
      if (!permission) await this.#consent.askUnlessAllowed(wanted, deadline);
      else if (request.challenge?.status === 401) {
        await this.reject(request.appId, key.id);
        throw apiKeyRejected(endpoint);
      } else {
        const value = apiKeys.held(key.id);
        if (value !== undefined) return this.#handOut(asked, permission, { apiKey: key, value });
        await apiKeys.read(key);
      }
    }
  }

  #handOut({ request, endpoint }: ApiKeyRequest, permission: Permission, handed: HandedApiKey): HandedApiKey {
    const { audit, apps, clock, temporaryPermissions } = this.#parts;
    const { appId } = request;
    if (request.isCallerGone) return handed;
    temporaryPermissions.used(permission, handed.apiKey.id);
    apps.used(permission, clock.wall());
    const receivers = this.#handedTo.get(handed.apiKey.id) ?? new Set();
    this.#handedTo.set(handed.apiKey.id, receivers.add(appId));
    const fingerprint = audit.fingerprint(handed.value);
    this.#note(request, endpoint, { event: 'apiKey', outcome: 'given', fingerprint });
    return handed;
  }

  /** The row in the audit log. Repeats are gathered, as for tokens. */
  #note(
    { appId }: TokenRequest,
    endpoint: string,
    what: { readonly event: 'apiKey' | 'refused'; readonly outcome: string; readonly fingerprint?: string },
  ): void {
    const { audit, apps } = this.#parts;
    audit.note({ ...what, app: apps.nameOf(appId), endpoint });
  }
}

function wantedKey(key: ApiKey, { appId, appProcess, interaction, isDetached }: TokenRequest): WantedAccess {
  return {
    appId,
    appProcess,
    endpoint: apiKeyTarget(key),
    apiKey: key,
    scope: [],
    interaction,
    isDetached,
  };
}
