/**
 * The rows of the audit log about `token.get`: which token was handed out, or why none was.
 *
 * Invariant: a row names a token by its fingerprint only.
 */
import type { BrokerParts } from './parts.ts';
import type { TokenRequest } from './request.ts';
import type { Grant } from './records/grant.ts';
import type { Reason } from '../base/errors.ts';
import type { AccessToken } from './tokens/token-cache.ts';

export class TokenRows {
  readonly #parts: Pick<BrokerParts, 'audit' | 'clients'>;
  /** What the audit log calls each token: a MAC over all of it, which is worked out once. */
  readonly #fingerprints = new WeakMap<AccessToken, string>();

  constructor(parts: Pick<BrokerParts, 'audit' | 'clients'>) {
    this.#parts = parts;
  }

  refused(request: TokenRequest, endpoint: string, reason: Reason): void {
    const { audit } = this.#parts;
    audit.note({
      event: 'refused',
      outcome: reason,
      app: this.#nameOf(request),
      endpoint,
    });
  }

  handedOut(request: TokenRequest, endpoint: string, grant: Grant, token: AccessToken): void {
    const { audit } = this.#parts;
    const { id, resource, issuer } = grant;
    audit.note({
      event: 'token',
      outcome: 'ok',
      app: this.#nameOf(request),
      endpoint,
      signIn: id,
      resource,
      issuer,
      scope: token.scope,
      fingerprint: this.#fingerprintOf(token),
    });
  }

  #nameOf({ clientId }: TokenRequest): string {
    return this.#parts.clients.nameOf(clientId);
  }

  /** Undefined until the audit log has the home's root key. */
  #fingerprintOf(token: AccessToken): string | undefined {
    const known = this.#fingerprints.get(token);
    if (known !== undefined) return known;
    const fingerprint = this.#parts.audit.fingerprint(token.accessToken);
    if (fingerprint !== undefined) this.#fingerprints.set(token, fingerprint);
    return fingerprint;
  }
}
