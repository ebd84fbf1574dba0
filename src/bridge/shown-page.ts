/**
 * One page on its way to the user: read from the server's words, put on a card by the broker.
 *
 * Invariant: each page has a connection of its own to the broker, which ends with it: a page that nobody waits for
 * any more leaves no card behind. The user hears what goes wrong; the server hears only of a page that was
 * not opened. After that pages rest for a while, each time longer: a server that asks without end costs neither
 * connections nor lines.
 */
import { KeyturnError, quoted } from '../base/errors.ts';
import type { Connection } from '../client/connection.ts';
import type { Time } from '../client/takeover.ts';
import { maxLength } from '../ipc/wire/limits.ts';
import { fieldsOf } from './base/json.ts';

/** The protocol's code of a request that a server refuses until pages were opened (`URLElicitationRequired`). */
export const openFirst = -32_042;

/** Pages of one answer of a server: more than that is no dialogue. */
export const maxPages = 8;

export interface Page {
  readonly url: string;
  readonly message: string;
}

export interface PageAnswer {
  readonly url: string;
  readonly action: 'accept' | 'decline' | 'cancel';
  /** Why it was not shown. */
  readonly trouble?: KeyturnError;
}

/** The page that these parameters of `elicitation/create` are about; undefined where they are about something else. */
export function pageOf(params: unknown): Page | undefined {
  const { mode, url, message } = fieldsOf(params);
  if (mode !== 'url') return undefined;
  const words = typeof message === 'string' ? message : '';
  const most = maxLength.sentence;
  const isLong = words.length > most;
  return {
    url: typeof url === 'string' ? url : '',
    message: isLong ? `${words.slice(0, most - 1)}…` : words,
  };
}

/** Those that a server wants opened before a request. */
export function pagesOf(data: unknown): Page[] {
  const { elicitations } = fieldsOf(data);
  return Array.isArray(elicitations)
    ? elicitations.slice(0, maxPages).flatMap((one) => pageOf(one) ?? [])
    : [];
}

interface Parts {
  readonly endpoint: URL;
  /** A new connection with each call. */
  readonly connection: () => Promise<Connection>;
  /** Tells the user of trouble. */
  readonly report: (error: unknown) => KeyturnError;
  readonly time: Pick<Time, 'now'>;
}

/** Pages before the user at a time: more than the broker lets wait for them (broker/shown-urls.ts). */
const maxOpen = 8;

/**
 * Milliseconds that pages rest after one that could not be shown. A user who fixed what was wrong waits for no
 * longer than the longest; the broker may name a longer one.
 */
const firstRest = 1000;
const longestRest = 60_000;

export class ShownPages {
  readonly #parts: Parts;
  #open = 0;
  /** Pages in a row that could not be shown. */
  #inARow = 0;
  /** Why they rest, and until when. */
  #rest: { readonly trouble: KeyturnError; readonly until: number } | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Asks the user. Rejects only with the signal's reason. */
  async show(page: Page, signal: AbortSignal): Promise<PageAnswer> {
    const { url } = page;
    const resting = this.#resting();
    if (resting) return { url, action: 'cancel', trouble: resting };
    if (this.#open >= maxOpen) {
      const many = `The server asks for more than ${maxOpen} pages at a time.`;
      const refusal = new KeyturnError('rate_limited', many, {
        hint: 'Answer the requests in Keyturn first.',
      });
      return { url, action: 'cancel', trouble: this.#failed(refusal) };
    }
    this.#open += 1;
    try {
      const action = await this.#asked(page, signal);
      this.#inARow = 0;
      return { url, action };
    } catch (error) {
      signal.throwIfAborted();
      return { url, action: 'cancel', trouble: this.#failed(error) };
    } finally {
      this.#open -= 1;
    }
  }

  async #asked({ url, message }: Page, signal: AbortSignal): Promise<PageAnswer['action']> {
    const own = await this.#parts.connection();
    try {
      const params = { resource: this.#parts.endpoint.href, url, message };
      const { action } = fieldsOf(await own.request('url.show', params, { signal }));
      return action === 'accept' || action === 'decline' ? action : 'cancel';
    } finally {
      own.close();
    }
  }

  #resting(): KeyturnError | undefined {
    return this.#rest && this.#rest.until > this.#parts.time.now() ? this.#rest.trouble : undefined;
  }

  /** Of pages that fail together, the user hears once. */
  #failed(error: unknown): KeyturnError {
    const resting = this.#resting();
    if (resting) return resting;
    const trouble = this.#parts.report(error);
    this.#inARow += 1;
    const grown = Math.min(longestRest, firstRest * 2 ** (this.#inARow - 1));
    const rest = Math.max(grown, (trouble.retryAfter ?? 0) * 1000);
    this.#rest = { trouble, until: this.#parts.time.now() + rest };
    return trouble;
  }
}

/** The client's error for a request that its server refused until pages were opened. */
export function afterPages(shown: readonly PageAnswer[]): string {
  const names = shown.map(({ url }) => nameOf(url));
  const last = shown.at(-1);
  const name = names.at(-1) ?? '';
  switch (last?.action) {
    case 'accept':
      return `Keyturn: the server wants pages opened before it does this. The user has opened: ${names.join(', ')}. Send the request again when they are done there.`;
    case 'decline':
      return `Keyturn: the server wants ${name} opened before it does this, and the user denied it. The request did not run.`;
    default: {
      const { message = 'It hasn’t been approved.', hint = '' } = last?.trouble ?? {};
      return `Keyturn: the server wants ${name} opened before it does this, and it was not. ${message} ${hint === '' ? 'Approve that in Keyturn, then send the request again.' : hint} The request did not run.`;
    }
  }
}

/** Without query and fragment, which may hold a secret. */
function nameOf(url: string): string {
  const parsed = URL.parse(url);
  return quoted(parsed === null ? '' : `${parsed.origin}${parsed.pathname}`);
}
