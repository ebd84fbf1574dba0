/**
 * Bytes that another party sends, read up to a bound.
 *
 * Invariant: no more than the bound and one chunk are ever in memory. Nothing of Node is needed.
 */

/** Reads chunks up to a bound. Undefined: there was more. */
export async function boundedBytes(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of chunks) {
    size += part.byteLength;
    // Leaving the loop cancels the stream.
    if (size > maxBytes) return undefined;
    parts.push(part);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}
