/**
 * Event streams of the older transport on their way to an app (MCP 2024-11-05, HTTP with SSE): each event called
 * `endpoint` names an address for messages, and gets another one here.
 *
 * Invariants: no whole `endpoint` event passes as the server wrote it, wherever in the stream it stands. What isn't one
 * passes byte for byte. The work is in proportion to the bytes, and about `maxAddress` bytes at most wait for the end
 * of an event.
 */
import { KeyturnError } from '../base/errors.ts';

/** Bytes of an event that names an address: more than any needs. A longer event passes while it comes. */
const maxAddress = 8192;

/** Bytes of a line that tell its field and the name of an event. */
const maxName = 64;

/** HTML standard, 9.2.5: a line ends with CR LF, LF or CR. */
const lineEnds = /\r\n?|\n/g;

const nothing = Buffer.alloc(0);

/** The stream with other addresses. Throws as `readdress`, and `resource_mismatch` for an address that is too long. */
export async function* readdressed(
  stream: AsyncIterable<Uint8Array>,
  readdress: (named: string) => string,
): AsyncGenerator<Uint8Array> {
  const events = new Events(readdress);
  for await (const chunk of stream) {
    const passed = events.take(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    if (passed.byteLength > 0) yield passed;
  }
  // The stream broke inside an event, which readers drop (HTML standard, 9.2.6): it passes as it is.
  if (events.held.byteLength > 0) yield events.held;
}

class Events {
  readonly #readdress: (named: string) => string;
  /** The beginning of an event whose end hasn't come. */
  held: Buffer = nothing;
  /** The event grew too long to be held, and passes while it comes. */
  #isPassing = false;
  /** The beginning of a line whose end hasn't come. */
  #line: Buffer = nothing;
  #isFirstLine = true;
  /** A line feed that comes next belongs to the line end before it. */
  #isAfterReturn = false;
  #event: string | undefined;
  #data: string[] = [];

  constructor(readdress: (named: string) => string) {
    this.#readdress = readdress;
  }

  take(chunk: Buffer): Buffer {
    const out: Buffer[] = [];
    // Latin-1 has one character for each byte.
    const text = chunk.toString('latin1');
    const isInLineEnd = this.#isAfterReturn && text.startsWith('\n');
    // Before `sent` everything left; the event that comes in now begins at `begin`, or in `held`.
    let [sent, begin, at] = [0, 0, isInLineEnd ? 1 : 0];
    if (text !== '') this.#isAfterReturn = text.endsWith('\r');
    for (const { 0: lineEnd, index } of text.matchAll(lineEnds)) {
      if (index < at) continue;
      const line = this.#whole(chunk.subarray(at, index));
      at = index + lineEnd.length;
      if (line.byteLength > 0) {
        this.#read(line);
        continue;
      }
      const other = this.#otherAddress();
      if (other !== undefined) {
        // `held` ends where this chunk begins, and goes with the event.
        if (begin > 0) out.push(this.#takeHeld(), chunk.subarray(sent, begin));
        this.held = nothing;
        out.push(other);
        sent = at;
      }
      begin = at;
      this.#isPassing = false;
    }
    this.#line = this.#beginningOf(chunk.subarray(at));
    if (begin > 0) out.push(this.#takeHeld(), chunk.subarray(sent, begin));
    this.#hold(chunk.subarray(begin), out);
    return out.length === 1 ? (out[0] ?? nothing) : Buffer.concat(out);
  }

  #takeHeld(): Buffer {
    const { held } = this;
    this.held = nothing;
    return held;
  }

  #hold(rest: Buffer, out: Buffer[]): void {
    if (this.#isPassing) {
      out.push(rest);
      return;
    }
    this.held = this.held.byteLength === 0 ? Buffer.from(rest) : Buffer.concat([this.held, rest]);
    if (this.held.byteLength <= maxAddress) return;
    if (this.#event === 'endpoint') throw tooLong();
    this.#isPassing = true;
    this.#data = [];
    out.push(this.#takeHeld());
  }

  #whole(end: Buffer): Buffer {
    const whole = this.#line.byteLength === 0 ? end : Buffer.concat([this.#line, end]);
    this.#line = nothing;
    return whole;
  }

  /** What is kept of a line that isn't whole: all, or of one that is longer than any address the beginning. */
  #beginningOf(part: Buffer): Buffer {
    const line = this.#line.byteLength === 0 ? part : Buffer.concat([this.#line, part]);
    return Buffer.from(line.byteLength > maxAddress ? line.subarray(0, maxName) : line);
  }

  #read(line: Buffer): void {
    const isName = line.byteLength <= maxName || !this.#isPassing;
    const text = isName ? line.toString('utf8') : line.toString('utf8', 0, maxName);
    const [, field = '', value = ''] =
      /^([^:]*):? ?(.*)$/s.exec(this.#isFirstLine ? text.replace(/^\uFEFF/, '') : text) ?? [];
    this.#isFirstLine = false;
    if (field === 'event') {
      this.#event = value;
      if (this.#isPassing && value === 'endpoint') throw tooLong();
    } else if (field === 'data' && !this.#isPassing) this.#data.push(value);
  }

  /** The event that takes the place of the one that ended; undefined where that passes as it is. */
  #otherAddress(): Buffer | undefined {
    const [event, data] = [this.#event, this.#data];
    this.#event = undefined;
    this.#data = [];
    if (event !== 'endpoint' || data.length === 0) return undefined;
    const named = data.join('\n');
    if (named.length > maxAddress) throw tooLong();
    return Buffer.from(`event: endpoint\ndata: ${this.#readdress(named)}\n\n`);
  }
}

function tooLong(): KeyturnError {
  const problem = 'the MCP server names an address for messages that is too long';
  return new KeyturnError('resource_mismatch', problem, {
    rule: 'A token goes to the origin that a user approved',
  });
}
