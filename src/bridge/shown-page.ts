/**
 * One page on its way to the person: read from the server's words, put on a card by the broker.
 *
 * Invariant: each page has a connection of its own to the broker, which ends with it: a page that nobody waits for
 * any more leaves no card behind. What goes wrong is told to the person, and to the server only as a page that was
 * not opened.
 */
import { type KeyturnError, quoted } from '../base/errors.ts';
import type { Connection } from '../client/connection.ts';
import { maxLength } from '../ipc/wire/limits.ts';
import { fieldsOf } from './base/envelope.ts';

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
  return { url: typeof url === 'string' ? url : '', message: cut(words) };
}

/** Those that a server wants opened before a request. */
export function pagesOf(data: unknown): Page[] {
  const { elicitations } = fieldsOf(data);
  return Array.isArray(elicitations)
    ? elicitations.slice(0, maxPages).flatMap((one) => pageOf(one) ?? [])
    : [];
}

function cut(text: string): string {
  return text.length > maxLength.sentence ? `${text.slice(0, maxLength.sentence - 1)}…` : text;
}

interface Parts {
  readonly endpoint: URL;
  /** A new connection with each call. */
  readonly connection: () => Promise<Connection>;
  /** Tells the person of trouble. */
  readonly told: (error: unknown) => KeyturnError;
}

/** Asks the person. Rejects only with the signal's reason. */
export async function showPage(
  { endpoint, connection, told }: Parts,
  { url, message }: Page,
  signal: AbortSignal,
): Promise<PageAnswer> {
  try {
    const own = await connection();
    try {
      const params = { resource: endpoint.href, url, message };
      const { action } = fieldsOf(await own.request('url.show', params, { signal }));
      return { url, action: action === 'accept' || action === 'decline' ? action : 'cancel' };
    } finally {
      own.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    return { url, action: 'cancel', trouble: told(error) };
  }
}

/** What the client is told of a request that its server refused until pages were opened. */
export function afterPages(shown: readonly PageAnswer[]): string {
  const names = shown.map(({ url }) => nameOf(url));
  const last = shown.at(-1);
  const name = names.at(-1) ?? '';
  switch (last?.action) {
    case 'accept':
      return `Keyturn: the server wants pages opened before it does this. The person has opened: ${names.join(', ')}. Send the request again when they are done there.`;
    case 'decline':
      return `Keyturn: the server wants ${name} opened before it does this, and the person said no. The request did not run.`;
    default: {
      const { message = 'Nobody has said yes.', hint = '' } = last?.trouble ?? {};
      return `Keyturn: the server wants ${name} opened before it does this, and it was not. ${message} ${hint === '' ? 'Send the request again, and answer Keyturn’s question.' : hint} The request did not run.`;
    }
  }
}

/** Without query and fragment, which may hold a secret. */
function nameOf(url: string): string {
  const parsed = URL.parse(url);
  return quoted(parsed === null ? '' : `${parsed.origin}${parsed.pathname}`);
}
