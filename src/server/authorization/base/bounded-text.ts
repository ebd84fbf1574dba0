/**
 * The text of an answer that came from outside, within a bound.
 *
 * Invariant: no more is kept in memory than the bound and one part of the answer.
 */
import { KeyturnError } from '../../../base/errors.ts';
import { boundedBytes } from '../../../oauth/base/bounded-bytes.ts';

/** `max`: bytes. Throws metadata_invalid for a longer answer. */
export async function boundedText(body: AsyncIterable<Uint8Array> | null, max: number): Promise<string> {
  if (body === null) return '';
  const bytes = await boundedBytes(body, max);
  if (bytes !== undefined) return new TextDecoder().decode(bytes);
  throw new KeyturnError('metadata_invalid', `The answer can’t be used: it is longer than ${max} bytes.`);
}
