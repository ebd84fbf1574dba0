/**
 * The client's input as whole lines: what the SDK's stdio transport reads in place of standard input.
 *
 * Invariant: memory is bounded by one message. A line that is too long or no JSON is reported and left out, and
 * the next one is read.
 */
import { Readable } from 'node:stream';
import { maxMessage, slowPiece } from './base/limits.ts';

export interface LineProblems {
  /** A line is longer than the limit. The rest of it is skipped. */
  tooLong(): void;
  /** The reader said nothing of a line (`heard`): it was no JSON. */
  noJson(): void;
}

const newline = 0x0a;
const space = 0x20;

/** A stream that emits one line a `data` event, synchronously, so that its reader's verdict is known at once. */
export class Lines extends Readable {
  readonly #source: Readable;
  readonly #problems: LineProblems;
  readonly #limit: number;
  #pieces: Buffer[] = [];
  #length = 0;
  #isSkipping = false;
  #wasHeard = false;
  /** Bytes of the present line. */
  size = 0;
  #present: Buffer = Buffer.alloc(0);
  #isSlow = false;
  #isHeld = false;
  #nextPiece: NodeJS.Timeout | undefined;

  constructor(source: Readable, problems: LineProblems, limit = maxMessage) {
    super({ read: () => undefined });
    this.#source = source;
    this.#problems = problems;
    this.#limit = limit;
  }

  /** Begins to read. After the transport has started, so that no line is lost. */
  begin(): void {
    this.#source.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#source.once('end', () => this.#end());
    this.#source.once('close', () => this.#end());
    // A broken pipe is an end like any other.
    this.#source.once('error', () => this.#end());
    if (this.#source.readableEnded || this.#source.destroyed) setImmediate(() => this.#end());
  }

  /** The present line, while its reader looks at it; '' at other times. */
  get line(): string {
    return this.#present.toString();
  }

  /** The reader took the present line for a message, or named what is wrong with it. */
  heard(): void {
    this.#wasHeard = true;
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

  /**
   * Reads nothing until then, not even the end: for a client that takes nothing, whose own end is seen at the output.
   */
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
    this.#problems.tooLong();
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
    if (!line.some((byte) => byte > space)) return;
    this.#wasHeard = false;
    this.size = line.length;
    this.#present = line;
    this.emit('data', line);
    this.#present = Buffer.alloc(0);
    if (!this.#wasHeard) this.#problems.noJson();
  }

  #end(): void {
    clearTimeout(this.#nextPiece);
    this.emit('end');
  }
}
