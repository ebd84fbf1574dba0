/**
 * What the client has told a session and a new one must hear again: the log level and the subscriptions.
 *
 * Invariant: remembers what the server took and the client still wants, within bounds, whatever a client sends.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import { fieldsOf } from '../base/json.ts';
import { maxSubscriptions, maxUri } from '../base/limits.ts';
import type { Answer, JSONRPCRequest } from '../base/messages.ts';

/** A request without its id. */
export type Repeat = Pick<JSONRPCRequest, 'method' | 'params'>;

/** Repeats that a new session gets at a time. */
const atATime = 8;

export class ClientState {
  #level: Repeat | undefined;
  readonly #subscriptions = new Map<string, Repeat>();
  #wasFull = false;

  /** Before a request is sent: what the client wants no more holds no more, whatever the server says. */
  sent({ method, params }: JSONRPCRequest): void {
    const { uri } = fieldsOf(params);
    if (method === 'resources/unsubscribe' && typeof uri === 'string') this.#subscriptions.delete(uri);
  }

  /** What the user is to know. */
  learn(request: JSONRPCRequest, answer: Answer): KeyturnError | undefined {
    this.sent(request);
    if ('error' in answer) return undefined;
    const { method, params } = request;
    const { level, uri } = fieldsOf(params);
    if (method === 'logging/setLevel' && typeof level === 'string' && level.length <= maxUri)
      this.#level = { method, params: { level } };
    if (method !== 'resources/subscribe' || typeof uri !== 'string' || this.#subscriptions.has(uri))
      return undefined;
    if (this.#subscriptions.size >= maxSubscriptions || uri.length > maxUri) return this.#full();
    this.#subscriptions.set(uri, { method, params: { uri } });
    return undefined;
  }

  /** Sends all again. What the server refuses is forgotten; resolves with what the user is to know. */
  async repeat(send: (repeat: Repeat) => Promise<Answer>): Promise<KeyturnError | undefined> {
    const missed: string[] = [];
    const left = [...(this.#level ? [this.#level] : []), ...this.#subscriptions.values()].values();
    const some = async (): Promise<void> => {
      for (const repeat of left) {
        const answer = await send(repeat).catch(() => undefined);
        if (!answer || 'error' in answer) missed.push(repeat.method);
        // Without an answer it may go well with the session after this one.
        if (answer && 'error' in answer) this.#forget(repeat);
      }
    };
    await Promise.all(Array.from({ length: atATime }, some));
    return missed.length === 0 ? undefined : notRepeated(missed);
  }

  clear(): void {
    this.#level = undefined;
    this.#subscriptions.clear();
  }

  #forget(repeat: Repeat): void {
    if (repeat === this.#level) this.#level = undefined;
    for (const [uri, known] of this.#subscriptions) if (known === repeat) this.#subscriptions.delete(uri);
  }

  #full(): KeyturnError | undefined {
    if (this.#wasFull) return undefined;
    this.#wasFull = true;
    return new KeyturnError(
      'mcp_server_unreachable',
      'The client subscribes to more than the bridge remembers: 1,024 resources with URIs of 2,048 characters at most. Should the server forget its session, the others are not subscribed again.',
      { hint: 'Restart this server in your client when that happens.' },
    );
  }
}

function notRepeated(missed: readonly string[]): KeyturnError {
  const counts = [...new Set(missed)].map((method) => {
    const count = missed.filter((each) => each === method).length;
    return count === 1 ? quoted(method) : `${quoted(method)} (${count} times)`;
  });
  return new KeyturnError(
    'mcp_server_unreachable',
    `The server began a new session and did not take in it what the client had set before: ${counts.join(', ')}.`,
    { hint: 'Restart this server in your client if you miss its messages.' },
  );
}
