/**
 * The text of an answer that came from outside.
 *
 * Invariant: no more is kept in memory than the bound and one part of the answer.
 */
import { KeyturnError } from '../../../base/errors.ts';

/** `max`: bytes. Throws metadata_invalid for a longer answer. */
export async function boundedText(body: AsyncIterable<unknown> | undefined, max: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError('an answer is read as bytes');
    length += chunk.length;
    if (length > max)
      throw new KeyturnError('metadata_invalid', `The answer can’t be used: it is longer than ${max} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
