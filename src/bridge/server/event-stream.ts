/**
 * The body of an answer, at the pace at which the client reads: whole, or event by event (HTML standard, 9.2).
 *
 * Invariant: no piece is read before the client took the earlier ones; no message grows past the limit.
 */
import { maxMessage } from '../base/limits.ts';

/** One message is larger than the bridge passes on. */
export class TooLarge extends Error {}

export interface ServerEvent {
  /** `message` where the server gives no name. */
  readonly name: string;
  /** Empty where the event only has an id. */
  readonly data: string;
}

export interface EventHooks {
  /** Resolves when the client takes more. */
  readonly ready: () => Promise<void>;
  readonly onEvent: (event: ServerEvent) => void;
  /** The last event's id, where a stream that breaks goes on. */
  readonly onId?: (id: string) => void;
  /** Milliseconds until the server wants the next stream. */
  readonly onRetry?: (ms: number) => void;
}

async function* pieces(response: Response, ready: () => Promise<void>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  try {
    for (;;) {
      await ready();
      const next = await reader?.read();
      if (!next || next.done) break;
      yield decoder.decode(next.value, { stream: true });
    }
    yield decoder.decode();
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}

/** Throws `TooLarge`. */
export async function wholeText(
  response: Response,
  ready: () => Promise<void> = async () => undefined,
  limit = maxMessage,
): Promise<string> {
  const parts: string[] = [];
  let length = 0;
  for await (const piece of pieces(response, ready)) {
    length += piece.length;
    if (length > limit) throw new TooLarge();
    parts.push(piece);
  }
  return parts.join('');
}

/** Resolves when the stream is over. Throws `TooLarge`. */
export async function readEvents(response: Response, hooks: EventHooks, limit = maxMessage): Promise<void> {
  const events = new Events(hooks, limit);
  for await (const piece of pieces(response, hooks.ready)) events.take(piece);
}

/** Events of a text that was sent under another type. */
export function eventsIn(text: string, hooks: Omit<EventHooks, 'ready'>): void {
  new Events(hooks, text.length + 2).take(`${text}\n\n`);
}

class Events {
  readonly #hooks: Omit<EventHooks, 'ready'>;
  readonly #limit: number;
  /** Of the line that isn't over. */
  #pieces: string[] = [];
  #wasReturn = false;
  /** Characters since the last event. */
  #length = 0;
  #name = '';
  #data: string[] = [];
  #id: string | undefined;

  constructor(hooks: Omit<EventHooks, 'ready'>, limit: number) {
    this.#hooks = hooks;
    this.#limit = limit;
  }

  take(piece: string): void {
    if (piece === '') return;
    // An LF after a CR belongs to it.
    const text = this.#wasReturn && piece.startsWith('\n') ? piece.slice(1) : piece;
    this.#wasReturn = piece.endsWith('\r');
    const lines = text.split(/\r\n|\r|\n/);
    const last = lines.pop() ?? '';
    for (const line of lines) {
      this.#pieces.push(line);
      this.#grow(line);
      const whole = this.#pieces.join('');
      this.#pieces = [];
      if (whole === '') this.#dispatch();
      else this.#read(whole);
    }
    if (last === '') return;
    this.#pieces.push(last);
    this.#grow(last);
  }

  #grow({ length }: string): void {
    this.#length += length;
    if (this.#length > this.#limit) throw new TooLarge();
  }

  #read(line: string): void {
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#name = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'retry' && /^\d{1,15}$/.test(value)) this.#hooks.onRetry?.(Number(value));
  }

  #dispatch(): void {
    const [name, data, id] = [this.#name, this.#data.join('\n'), this.#id];
    this.#length = 0;
    this.#name = '';
    this.#data = [];
    this.#id = undefined;
    if (id) this.#hooks.onId?.(id);
    if (data !== '') this.#hooks.onEvent({ name: name === '' ? 'message' : name, data });
  }
}
