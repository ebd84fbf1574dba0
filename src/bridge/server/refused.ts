/**
 * An answer of the server that is no success.
 *
 * Invariant: the server's words are quoted and bounded, without what looks like a token. A redirect names the origin of
 * its target alone: path and query may hold a secret.
 */
import { quoted } from '../../base/errors.ts';
import { fieldsOf, jsonIn } from '../base/json.ts';
import { type Answer, isAnswer, messageOf } from '../base/messages.ts';
import { TooLarge, wholeText } from './event-stream.ts';

/** Characters of a refusal that are read. */
const maxText = 2 ** 20;

/** Statuses by which a server says that it did not run the request. */
const sessionStatuses = new Set([400, 404, 409, 410]);

export class ServerRefusal extends Error {
  readonly status: number;
  readonly text: string;
  /** Seconds. */
  readonly retryAfter: number | undefined;
  readonly redirectsTo: string | undefined;

  private constructor(response: Response, from: string | URL, text: string) {
    super(`the server answers ${response.status}`);
    this.status = response.status;
    this.text = text;
    this.retryAfter = retryAfterIn(response);
    this.redirectsTo = redirectOrigin(response, from);
  }

  static async of(response: Response, from: string | URL): Promise<ServerRefusal> {
    const text = await wholeText(response, undefined, maxText).catch((error: unknown) => {
      if (error instanceof TooLarge) return '';
      throw error;
    });
    return new ServerRefusal(response, from, text);
  }

  /** The JSON-RPC error in it, whatever its id: one message was sent, so it is about that. */
  get answer(): Answer | undefined {
    const value = jsonIn(this.text);
    const { code, message } = fieldsOf(fieldsOf(value)['error']);
    if (code === undefined || typeof message !== 'string') return undefined;
    const answer = messageOf(value);
    return answer && isAnswer(answer) ? answer : undefined;
  }

  /** The session is gone. The specification's word for it is 404; servers made with the SDKs have others. */
  get isAboutSession(): boolean {
    const { status, answer } = this;
    // A request that ran fails under its own id.
    const isUnread = status >= 500 && answer !== undefined && answer.id === undefined;
    return (sessionStatuses.has(status) || isUnread) && /session|not initiali[sz]ed/i.test(this.text);
  }
}

/** A sentence; empty where the server says nothing that a user reads. */
export function wordsOf(text: string): string {
  const words = text.trim().replace(/\b(bearer|dpop)\s+[\w.~+/=-]{8,}/gi, '$1 …');
  return words === '' || words.startsWith('<') ? '' : ` The server says: ${quoted(words)}.`;
}

/** RFC 9110 §10.2.3: seconds, or a date. A day at most. */
function retryAfterIn({ headers }: Response): number | undefined {
  const said = headers.get('retry-after') ?? '';
  const seconds = /^\d+$/.test(said) ? Number(said) : Math.ceil((Date.parse(said) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), 86_400);
}

function redirectOrigin({ status, headers }: Response, from: string | URL): string | undefined {
  const location = headers.get('location');
  if (status < 300 || status > 399 || location === null) return undefined;
  const target = URL.parse(location, new URL(from).href);
  return target && /^https?:$/.test(target.protocol) ? target.origin : undefined;
}
