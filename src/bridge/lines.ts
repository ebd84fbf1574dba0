/**
 * The client's input as whole lines.
 *
 * Invariant: memory is bounded by one message. A line that is too long is reported and left out, and the next one is
 * read.
 */
import type { Readable } from 'node:stream';
import { maxMessage, slowPiece } from './base/limits.ts';

export interface LineHooks {
  /** Takes each line that isn't empty. */
  onLine(line: Buffer): void;
  /** A line is longer than the limit. The rest of it is skipped. */
  tooLong(): void;
  onEnd(): void;
}

const newline = 0x0a;
const space = 0x20;

export class Lines {
  readonly #source: Readable;
  readonly #hooks: LineHooks;
  readonly #limit: number;
  #pieces: Buffer[] = [];
  #length = 0;
  #isSkipping = false;
  #isSlow = false;
  #isHeld = false;
  #isOver = false;
  #nextPiece: NodeJS.Timeout | undefined;

  constructor(source: Readable, hooks: LineHooks, limit = maxMessage) {
    this.#source = source;
    this.#hooks = hooks;
    this.#limit = limit;
  }

  begin(): void {
    this.#source.on('data', (chunk: Buffer) => this.#read(chunk));
    // A broken pipe is an end like any other.
    for (const event of ['end', 'close', 'error']) this.#source.once(event, () => this.end());
    if (this.#source.readableEnded || this.#source.destroyed) setImmediate(() => this.end());
  }

  /** Reads a piece now and then, or as they come. Never stops altogether: then the end would not be seen. */
  slow(isSlow: boolean): void {
    if (isSlow === this.#isSlow) return;
    this.#isSlow = isSlow;
    if (isSlow) return this.#rest();
    clearTimeout(this.#nextPiece);
    this.#nextPiece = undefined;
    this.#go();
  }

  /** Reads nothing until then, not even the end: for a client that takes nothing, whose end is seen at the output. */
  hold(until: Promise<void>): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#source.pause();
    void this.#letGoAfter(until);
  }

  async #letGoAfter(until: Promise<void>): Promise<void> {
    await until;
    this.#isHeld = false;
    this.#go();
  }

  #go(): void {
    if (!this.#isHeld) this.#source.resume();
  }

  #rest(): void {
    this.#source.pause();
    this.#nextPiece ??= setTimeout(() => {
      this.#nextPiece = undefined;
      this.#go();
    }, slowPiece);
  }

  #read(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#add(chunk.subarray(start, end + 1));
      start = end + 1;
      this.#line();
    }
    this.#add(chunk.subarray(start));
    if (this.#isSlow) this.#rest();
  }

  #add(piece: Buffer): void {
    if (piece.length === 0 || this.#isSkipping) return;
    this.#length += piece.length;
    if (this.#length <= this.#limit) return void this.#pieces.push(piece);
    this.#pieces = [];
    this.#isSkipping = true;
    this.#hooks.tooLong();
  }

  #line(): void {
    const pieces = this.#pieces;
    const isWhole = !this.#isSkipping;
    this.#pieces = [];
    this.#length = 0;
    this.#isSkipping = false;
    if (!isWhole) return;
    const [first] = pieces;
    const line = first && pieces.length === 1 ? first : Buffer.concat(pieces);
    if (line.some((byte) => byte > space)) this.#hooks.onLine(line);
  }

  /** Reads nothing more. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#nextPiece);
    this.#source.removeAllListeners('data');
    this.#source.pause();
    this.#hooks.onEnd();
  }
}
