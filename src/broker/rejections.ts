/**
 * What follows when an MCP server rejects a token that should have been good: the token is replaced, within a
 * bound, and its sign-in is suspect until the MCP server was asked which issuer and which tokens it wants now.
 *
 * Invariant: only a token in memory that this app received is replaced.
 */
import { quoted } from '../base/errors.ts';
import { asTyped } from '../oauth/base/resource.ts';
import type { BrokerParts } from './parts.ts';
import { isStepUp, type BegunRequest } from './request.ts';
import type { SignIn } from './records/sign-in.ts';
import { tokensRejected } from './refusals/refusals.ts';
import { expiryGrace, RejectionLimits, type Rejection, type RejectionOutcome } from './rejection-limits.ts';
import { isAlive, type AccessToken } from './tokens/token-cache.ts';
import { stillNames } from './destination/asked-resource.ts';

export class Rejections {
  readonly #parts: BrokerParts;
  readonly limits: RejectionLimits;
  /** By the ids of sign-ins whose token was rejected: what their MCP servers are being asked since then. */
  readonly #suspects = new Map<string, Map<string, ReturnType<typeof stillNames>>>();

  constructor(parts: BrokerParts) {
    this.#parts = parts;
    this.limits = new RejectionLimits(() => parts.clock.now());
  }

  /**
   * An MCP server rejected this token. For one that isn't in memory, or that another app received, nothing
   * happens: the newer one is returned next time. A token at its end is replaced without being
   * counted: every app that keeps its token until then reports one.
   */
  reject({ appId, token: named, operation, hasWorked = false, challenge }: Rejection): RejectionOutcome {
    // The token is good, and another one of the same scopes would be rejected as well.
    if (isStepUp(challenge)) return { isReplaced: false };
    const isNamed = (token: AccessToken): boolean =>
      'tokenId' in named ? token.tokenId === named.tokenId : token.accessToken === named.accessToken;
    const { cache, clock, signIns, refresher } = this.#parts;
    for (const { id: signInId } of signIns.shown()) {
      const token = cache.of(signInId).find(isNamed);
      if (!token?.handedTo.has(appId)) continue;
      if (isAlive(token, clock.now(), expiryGrace)) {
        // The newest set is last. RFC 6749 §6: a refresh for one set says nothing about the token of another one.
        if (cache.of(signInId).at(-1) !== token) refresher.sawOtherEnd(signInId);
        const use = { appId, signInId, operation };
        const pause = this.limits.left(use);
        if (pause > 0) return { isReplaced: false, pause };
        this.limits.add(use, hasWorked);
        // An answer to a question from before this rejection may be out of date: requests from now on ask again.
        this.#suspects.set(signInId, new Map());
      }
      cache.reject(signInId, token);
      return { isReplaced: true };
    }
    return { isReplaced: false };
  }

  /** Before the next token of this sign-in is handed out, its MCP server must be asked (`isIssuerStillNamed`). */
  hadTokenRejected({ id }: SignIn): boolean {
    return this.#suspects.has(id);
  }

  /** False if the MCP server now names another issuer, or takes no Bearer tokens: the user must sign in again. */
  async isIssuerStillNamed({ endpoint, request }: BegunRequest, signIn: SignIn): Promise<boolean> {
    const { signIns } = this.#parts;
    const challenge = request.challenge?.bearer;
    const question = { endpoint, typed: asTyped(request.resource), challenge };
    const suspicion = this.#suspects.get(signIn.id);
    const answer = await this.#ask(question, signIn, suspicion);
    // Suspect until there is an answer, so that no other request gets a token unchecked meanwhile.
    const isLatest = this.#suspects.get(signIn.id) === suspicion;
    if (answer !== 'unknown' && isLatest) this.#suspects.delete(signIn.id);
    if (answer === 'yes' || answer === 'unknown') return true;
    const why =
      answer === 'bound'
        ? 'the server now takes only tokens that are bound to a DPoP key'
        : `the server now names another sign-in provider${answer.issuers
            .slice(0, 1)
            .map((issuer) => `, ${quoted(issuer)}`)
            .join('')}`;
    // Race: a refresh may have changed the record while the server was asked.
    const current = signIns.byId(signIn.id);
    if (current?.state.kind === 'active')
      await signIns.change(current, { state: { kind: 'signInRequired', why } });
    return false;
  }

  /** Requests with the same question share its answer: many apps may hear of one rejection at once. */
  async #ask(
    question: Parameters<typeof stillNames>[1],
    signIn: SignIn,
    underWay = new Map<string, ReturnType<typeof stillNames>>(),
  ): ReturnType<typeof stillNames> {
    const key = JSON.stringify(question);
    const asked = underWay.get(key) ?? stillNames(this.#parts, question, signIn);
    underWay.set(key, asked);
    try {
      return await asked;
    } finally {
      if (underWay.get(key) === asked) underWay.delete(key);
    }
  }

  /**
   * For a caller whose last token was rejected, during a pause (MCP, Step-Up Authorization Flow). Any other gets the
   * token there is.
   */
  throwWhileNotReplacing({ request, endpoint }: BegunRequest, signIn: SignIn): void {
    if (request.challenge?.status !== 401 || isStepUp(request.challenge)) return;
    const { appId, operation } = request;
    const pause = this.limits.left({ appId, signInId: signIn.id, operation });
    if (pause > 0) throw tokensRejected(endpoint, pause);
  }
}
