/**
 * Listens to what the HTTP servers of this process hear and say, and changes nothing of it. An exchange that never ends
 * is told of when its connection closes.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface Exchange {
  readonly target: string;
  /** Header values; empty where there is none. */
  readonly authorization: string;
  readonly location: string;
  /** Bodies as text. */
  readonly request: string;
  readonly response: string;
}

/** Bytes of a body that are kept: more than any real answer has, less than a hostile one without end. */
const maxKept = 256 * 1024;

/** Bytes as they go by, up to the bound. */
class Kept {
  readonly #pieces: Buffer[] = [];
  #size = 0;

  add(chunk: unknown): void {
    if (this.#size >= maxKept) return;
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (!(bytes instanceof Uint8Array)) return;
    this.#pieces.push(Buffer.from(bytes));
    this.#size += bytes.length;
  }

  get text(): string {
    return Buffer.concat(this.#pieces).toString();
  }
}

/** Calls the listener at the end of every exchange from now on, of whichever server. */
export function hear(listener: (exchange: Exchange) => void): void {
  subscribe('http.server.request.start', (message) => {
    // What Node publishes there (its documentation, Diagnostics Channel).
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    const [heard, said] = [new Kept(), new Kept()];
    let head = '';
    tap(request, 'push', ([chunk]) => heard.add(chunk));
    tap(response, 'write', ([chunk]) => said.add(chunk));
    tap(response, 'end', ([chunk]) => said.add(chunk));
    // Headers that are given here are kept nowhere.
    tap(response, 'writeHead', (args) => void (head = JSON.stringify(args)));
    response.once('close', () => {
      listener({
        target: request.url ?? '',
        authorization: request.headers.authorization ?? '',
        location: String(response.getHeader('location') ?? locationIn(head)),
        request: heard.text,
        response: said.text,
      });
    });
  });
}

/** `writeHead` takes headers as an object, and as a list of names and values. */
function locationIn(head: string): string {
  return /"location"\s*[:,]\s*"([^"]*)"/i.exec(head)?.[1] ?? '';
}

/** Tells of each call of a method, and calls it all the same. */
function tap<Name extends string>(
  target: { [name in Name]: (...args: never[]) => unknown },
  name: Name,
  note: (args: readonly unknown[]) => void,
): void {
  // The method's own arguments go through untouched, whatever their types.
  const method = target[name] as (...args: unknown[]) => unknown;
  Reflect.set(target, name, function tapped(this: unknown, ...args: unknown[]) {
    note(args);
    return method.apply(this, args);
  });
}
