/**
 * The algorithm of our proofs of a key (RFC 9449 §4.2). There is one, so that the key of a grant fits wherever its tokens
 * go. A server that lists only others counts as one that takes no proofs.
 */
export const proofAlgorithm = 'ES256';
