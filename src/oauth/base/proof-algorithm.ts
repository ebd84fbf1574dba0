/**
 * The algorithm of our proofs of a key (RFC 9449 §4.2). There is one, so that the key of a grant fits wherever its tokens
 * go. Every server that takes proofs takes it.
 */
export const proofAlgorithm = 'ES256';
