/**
 * Why the protected server refuses a request: one closed table of reasons, with the status and error code of each.
 *
 * Invariant: nothing of a request enters a description. The texts stand here, so that an answer can't repeat a token,
 * and each of them fits into a quoted-string (RFC 6750 §3).
 */

/** RFC 6750 §3.1, RFC 9449 §7.1 and §9. */
type ChallengeError =
  | 'invalid_request'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'invalid_dpop_proof'
  | 'use_dpop_nonce';

interface RefusalRow {
  readonly status: 400 | 401 | 403 | 404 | 413 | 429 | 503;
  /** The `error` of the challenge; none: the answer carries no challenge, or one without an error. */
  readonly error?: ChallengeError;
  readonly description: string;
}

const malformed = { status: 400, error: 'invalid_request' } as const;
const invalid = { status: 401, error: 'invalid_token' } as const;
const wrongProof = { status: 401, error: 'invalid_dpop_proof' } as const;

const refusalRows = {
  insecure_transport: { ...malformed, description: 'This server answers over https only' },
  path_ambiguous: { ...malformed, description: 'The path can be read in more than one way' },
  unknown_path: { status: 404, description: 'There is nothing here' },
  rate_limited: { status: 429, description: 'Too many requests' },
  too_many_failures: { status: 429, description: 'Too many tokens were rejected' },

  authorization_unreadable: {
    ...malformed,
    description: 'The Authorization header must be one scheme and one token',
  },
  token_in_query: { ...malformed, description: 'The token must not be in the URL' },
  token_in_body: { ...malformed, description: 'The token must not be in the body' },
  /** RFC 6750 §3.1: a request without authentication gets no error code. */
  token_missing: { status: 401, description: 'This server needs an access token' },

  token_unreadable: { ...invalid, description: 'The token has no form that this server reads' },
  token_wrong_type: { ...invalid, description: 'The token is not an access token' },
  token_wrong_algorithm: {
    ...invalid,
    description: 'The token is signed with an algorithm that is not allowed',
  },
  token_critical_header: {
    ...invalid,
    description: 'The token has a critical header that this server does not know',
  },
  token_wrong_issuer: { ...invalid, description: 'The token is from another issuer' },
  token_unknown_key: { ...invalid, description: 'The token is signed by an unknown key' },
  token_wrong_signature: { ...invalid, description: 'The token has a wrong signature' },
  token_claims: { ...invalid, description: 'The token lacks a claim, or has one of a wrong type' },
  token_expired: { ...invalid, description: 'The token has expired' },
  token_not_yet_valid: { ...invalid, description: 'The token is not valid yet' },
  token_wrong_audience: { ...invalid, description: 'The token was not issued for this server' },
  token_inactive: { ...invalid, description: 'The token is not active' },
  token_bound: { ...invalid, description: 'The token is bound to a key, and was sent without its proof' },
  token_unbound: { ...invalid, description: 'The token is not bound to a key' },
  session_ended: { ...invalid, description: 'The session of the token has ended' },

  proof_unreadable: { ...wrongProof, description: 'The request must carry one readable DPoP proof' },
  proof_wrong_key: {
    ...wrongProof,
    description: 'The DPoP proof is signed by another key than the token is bound to',
  },
  proof_wrong_signature: { ...wrongProof, description: 'The DPoP proof has a wrong signature' },
  proof_wrong_request: { ...wrongProof, description: 'The DPoP proof was made for another request' },
  proof_wrong_token: { ...wrongProof, description: 'The DPoP proof was made for another token' },
  proof_wrong_time: { ...wrongProof, description: 'The DPoP proof is too old, or from the future' },
  proof_replayed: { ...wrongProof, description: 'The DPoP proof was used before' },
  proof_needs_nonce: {
    status: 401,
    error: 'use_dpop_nonce',
    description: 'The DPoP proof must carry the nonce of this server',
  },

  scope_insufficient: {
    status: 403,
    error: 'insufficient_scope',
    description: 'The token has too few scopes for this request',
  },

  body_too_long: { status: 413, description: 'The body is too long' },
  body_unreadable: { status: 400, description: 'The body is not JSON' },
  message_unreadable: { status: 400, description: 'The body is not a message of the protocol' },
  header_mismatch: { status: 400, description: 'The Mcp-Method or Mcp-Name header differs from the body' },

  keys_unavailable: { status: 503, description: 'The token can not be checked now' },
  introspection_unavailable: { status: 503, description: 'The token can not be checked now' },
  session_unavailable: { status: 503, description: 'The session of the token can not be checked now' },
  proofs_exhausted: { status: 503, description: 'The DPoP proof can not be checked now' },
} as const satisfies Record<string, RefusalRow>;

export type RefusalReason = keyof typeof refusalRows;

export interface RefusalDetails {
  /** Scopes that a new token needs, for the challenge. */
  readonly scope?: readonly string[];
  /** Seconds until another try makes sense. */
  readonly retryAfterSeconds?: number;
  /** What the operator's event says of it: never a token, and bounded. The answer doesn't have it. */
  readonly problem?: string;
  /** A body in place of the usual one, as JSON text. */
  readonly body?: string;
}

/** A request that goes no further. Its message is the description of the table, so it holds nothing of the request. */
export class Refusal extends Error {
  readonly reason: RefusalReason;
  readonly row: RefusalRow;
  readonly details: RefusalDetails;

  constructor(reason: RefusalReason, details: RefusalDetails = {}) {
    super(refusalRows[reason].description);
    this.name = 'Refusal';
    this.reason = reason;
    this.row = refusalRows[reason];
    this.details = details;
  }
}
