/**
 * The older transport (MCP 2024-11-05, HTTP with SSE): one stream of events, which names the URL for messages.
 *
 * Invariant: messages go to the endpoint's own origin only.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import { NotOlder } from '../base/errors.ts';
import { connectTime } from '../base/limits.ts';
import type { JSONRPCMessage } from '../base/messages.ts';
import {
  type Carrier,
  type CarrierOptions,
  eventStream,
  isEventStream,
  type Sending,
  type Sent,
} from './carriers.ts';
import { readEvents, TooLarge, wholeText } from './event-stream.ts';
import { ServerRefusal } from './refused.ts';

export class Older implements Carrier {
  readonly isOlder = true;
  readonly sessionId = undefined;
  readonly #options: CarrierOptions;
  readonly #closed = new AbortController();
  #named: URL | undefined;
  #version: string | undefined;

  constructor(options: CarrierOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const named = Promise.withResolvers<URL>();
    const timer = setTimeout(() => named.reject(new NotOlder()), connectTime);
    void this.#read(named).catch((error: unknown) => named.reject(error));
    try {
      this.#named = await named.promise;
    } catch (error) {
      this.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  speak(version: string): void {
    this.#version = version;
  }

  async send(message: JSONRPCMessage, { signal, hear }: Sending): Promise<Sent> {
    const { fetch, endpoint, ready } = this.#options;
    const to = this.#named ?? endpoint;
    const headers = { ...this.#headers('*/*'), 'content-type': 'application/json' };
    const response = await fetch(
      to,
      {
        method: 'POST',
        headers,
        body: JSON.stringify(message),
        signal: AbortSignal.any([signal, this.#closed.signal]),
      },
      { named: to.href },
    );
    if (!response.ok) throw await ServerRefusal.of(response, to);
    // "Accepted", as a rule, which a proxy may cut off. Some servers answer here.
    const text = await wholeText(response, ready).catch((error: unknown) => {
      if (error instanceof TooLarge || signal.aborted) throw error;
      return '';
    });
    if (/^\s*[[{]/.test(text)) hear(text);
    return { status: response.status, isLater: true };
  }

  async listen(): Promise<void> {}

  async terminate(): Promise<void> {}

  close(): void {
    this.#closed.abort();
  }

  async #read(named: PromiseWithResolvers<URL>): Promise<void> {
    const { endpoint, fetch, ready, hear, onLost } = this.#options;
    const { signal } = this.#closed;
    const response = await fetch(endpoint, { headers: this.#headers(eventStream), signal });
    const isPassing = response.status === 429 || response.status >= 502;
    if (response.status === 401 || isPassing) throw await ServerRefusal.of(response, endpoint);
    if (!response.ok || !isEventStream(response)) {
      await response.body?.cancel();
      throw new NotOlder();
    }
    const onEvent = ({ name, data }: { readonly name: string; readonly data: string }): void => {
      if (name === 'message') hear(data);
      if (name === 'endpoint') named.resolve(urlFor(data, endpoint));
    };
    try {
      await readEvents(response, { ready, onEvent });
    } catch (error) {
      // Before the URL came it is the answer to the start.
      named.reject(error);
    }
    named.reject(new NotOlder());
    if (this.#named && !signal.aborted) onLost();
  }

  #headers(accept: string): Record<string, string> {
    return { accept, ...(this.#version === undefined ? {} : { 'mcp-protocol-version': this.#version }) };
  }
}

function urlFor(named: string, endpoint: URL): URL {
  const url = URL.parse(named.trim(), endpoint.href);
  if (url?.origin === endpoint.origin) return url;
  throw new KeyturnError(
    'resource_mismatch',
    `The server names an address for messages at another origin (${quoted(url?.origin ?? named)}), and the bridge sends nothing there.`,
    {
      hint: 'Its operator has to name the address under which you reach it: often a proxy stands before it.',
    },
  );
}
