/**
 * Which assertions and proofs of a client oidc-provider has seen.
 *
 * Invariant: what one client sends never counts as what another one sent, whatever their ids are.
 */
import { createHash } from 'node:crypto';
import type { Provider } from 'oidc-provider';

/**
 * The provider names an assertion by the client's id and its own `jti` in one string, so that "a" with "b1" and "ab"
 * with "1" were the same. A digest in the place of the `jti` has one length, and says where the client's id ends.
 */
export function tellClientsApart({ ReplayDetection }: Provider): void {
  const unique = ReplayDetection.unique.bind(ReplayDetection);
  ReplayDetection.unique = async (client, jti, end) =>
    // As JSON: the provider takes a `jti` of any type.
    unique(client, createHash('sha256').update(JSON.stringify(jti)).digest('base64url'), end);
}
