/**
 * Frames: one JSON text a line, ended by LF. A frame is the bytes between two line feeds, exactly.
 *
 * Invariant: what waits in a reader is never more than one frame's limit plus what its owner pushed
 * without asking `next`, and takes no more memory if it came byte by byte; a line that grows beyond
 * the limit is refused before it ends.
 */
import { KeyturnError } from '../../base/errors.ts';
import { frameLimit } from './limits.ts';

const lineFeed = 0x0a;

/**
 * Pieces kept apart before they are joined. Each costs some 200 bytes besides its own, so that a frame sent byte by
 * byte would take 200 times its size; joined less often than that, the copying costs less than the reading did.
 */
const maxPieces = 256;

/** Splits a stream into frames. Pull-based: the limit may change between two frames of one chunk. */
export class FrameReader {
  /** Most bytes of a frame, its line feed not counted. */
  limit: number;
  #chunks: Buffer[] = [];
  #begun: Buffer[] = [];
  #begunLength = 0;
  #waiting = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Bytes held: of frames not yet asked for, and of the one that hasn't ended. */
  get buffered(): number {
    return this.#begunLength + this.#waiting;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    append(this.#chunks, chunk);
    this.#waiting += chunk.length;
  }

  /** The next whole frame without its line feed, if there is one. Throws `frame_invalid` past the limit. */
  next(): Buffer | undefined {
    for (let chunk = this.#chunks[0]; chunk; chunk = this.#chunks[0]) {
      const end = chunk.indexOf(lineFeed);
      const piece = end < 0 ? chunk : chunk.subarray(0, end);
      if (this.#begunLength + piece.length > this.limit) throw tooLong(this.limit);
      if (end < 0) {
        this.#take(chunk, chunk.length);
        append(this.#begun, piece);
        this.#begunLength += piece.length;
        continue;
      }
      this.#take(chunk, end + 1);
      const frame = this.#begun.length === 0 ? piece : Buffer.concat([...this.#begun, piece]);
      this.#begun = [];
      this.#begunLength = 0;
      return frame;
    }
    return undefined;
  }

  /** Drops the first `count` bytes of the first chunk. */
  #take(chunk: Buffer, count: number): void {
    this.#waiting -= count;
    if (count === chunk.length) this.#chunks.shift();
    else this.#chunks[0] = chunk.subarray(count);
  }
}

function append(pieces: Buffer[], piece: Buffer): void {
  pieces.push(piece);
  if (pieces.length >= maxPieces) pieces.splice(0, pieces.length, Buffer.concat(pieces));
}

/**
 * One message as a frame, without the line feed. Throws `frame_invalid` when it is too long to send. It stays text: the
 * socket encodes it as it writes, which saves copies.
 */
export function encodeFrame(message: object, limit = frameLimit): string {
  // JSON.stringify escapes every control character, so a frame never holds a line feed.
  const frame = JSON.stringify(message);
  // A character of the string is at most three bytes: the bytes are counted only where that could be too many.
  if (frame.length * 3 > limit && Buffer.byteLength(frame) > limit) throw tooLong(limit);
  return frame;
}

function tooLong(limit: number): KeyturnError {
  return new KeyturnError('frame_invalid', `a frame is longer than ${limit} bytes`, {
    rule: 'Keyturn wire protocol: bounded frames',
  });
}
