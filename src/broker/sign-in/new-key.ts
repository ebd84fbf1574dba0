/**
 * The key of one sign-in, where its tokens will be bound to one.
 *
 * Invariant: a key of a sign-in that stored nothing is removed from where it was made. One that may be in the vault
 * stays, whatever happens afterwards.
 */
import { ProofKey } from '../../oauth/client/proof-key.ts';
import type { KeyHolders } from '../../signing/key-holders.ts';
import type { Destination } from '../destination/destination.ts';

/**
 * Runs a sign-in with a key of its own: what an earlier key of the grant signed is worth nothing for the new tokens.
 * Throws `key_unavailable` before anything is sent.
 */
export async function withNewKey<T>(
  holders: KeyHolders,
  { isBound }: Pick<Destination, 'isBound'>,
  work: (proofKey: ProofKey | undefined) => Promise<T>,
): Promise<T> {
  if (!isBound) return work(undefined);
  const key = await holders.make();
  const proofKey = new ProofKey(key);
  try {
    return await work(proofKey);
  } finally {
    if (!proofKey.isKept) await holders.remove(key.kept);
  }
}
