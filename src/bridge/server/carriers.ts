/**
 * What the two transports of the protocol over HTTP have in common, as a session uses them.
 *
 * Invariant: a carrier passes on texts and judges none. What it sends it sends once.
 */
import type { Time } from '../../client/takeover.ts';
import type { JSONRPCMessage } from '../base/messages.ts';
import type { Fetch } from './authorized-fetch.ts';

export interface Sending {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** Takes each message that comes in answer to this one. */
  readonly hear: (text: string) => void;
  /** The request waits for its answer. */
  readonly isOpen: () => boolean;
}

/** What is known when nothing more comes. */
export interface Sent {
  readonly status: number;
  /** The answer was a stream of events. */
  readonly isStream?: boolean;
  /** Answers come on the session's one stream, later. */
  readonly isLater?: true;
  /** The answer may still come on the open stream on which the server speaks by itself: resolves when that ends. */
  readonly elsewhere?: Promise<unknown> | undefined;
}

export interface Carrier {
  /** All answers come on one stream. */
  readonly isOlder: boolean;
  readonly sessionId: string | undefined;
  start(): Promise<void>;
  /** The revision that the server chose: every later request names it. */
  speak(version: string): void;
  /** Resolves when the answer is over. Throws `ServerRefusal`, `TooLarge`, a KeyturnError, or what the network says. */
  send(message: JSONRPCMessage, sending: Sending): Promise<Sent>;
  /** Keeps the stream open on which the server speaks by itself, where that is a stream of its own. */
  listen(signal: AbortSignal): Promise<void>;
  /** Ends the session at the server, where that can be told. */
  terminate(): Promise<void>;
  close(): void;
}

export interface CarrierOptions {
  readonly endpoint: URL;
  /** Attaches tokens. */
  readonly fetch: Fetch;
  /** Takes messages that answer nothing that was sent. */
  readonly hear: (text: string) => void;
  /** The server has ended the session, as a stream learns first. */
  readonly onLost: () => void;
  /** Resolves when the client takes more. */
  readonly ready: () => Promise<void>;
  readonly time: Time;
}

export type MakeCarrier = new (options: CarrierOptions) => Carrier;

export const eventStream = 'text/event-stream';

export function isEventStream({ headers }: Response): boolean {
  return /^text\/event-stream\b/i.test(headers.get('content-type') ?? '');
}
