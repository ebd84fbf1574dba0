/**
 * Client ID metadata documents, as the authorization server fetches and judges them
 * (draft-ietf-oauth-client-id-metadata-document).
 *
 * Invariant: a document counts only if the host of its URL may be asked, the answer came without a redirect, in time
 * and within bounds, and has the fields that the specification requires. (The provider compares its client_id with
 * the URL, and redirect.ts judges its redirects as those of every client.) The request reaches public addresses only,
 * or this machine where the issuer is on this machine too (base/addresses.ts).
 */
import { z } from 'zod';
import { reachOf } from '../../../base/addresses.ts';
import { KeyturnError } from '../../../base/errors.ts';
import { parseJson } from '../../../base/text/json.ts';
import { nameServer } from '../base/name-server.ts';
import { operatorFetch } from '../base/operator-fetch.ts';
import { Turns } from './turns.ts';

/** Bytes. The draft recommends 5 KB as a bound; some documents carry keys. */
const maxDocumentLength = 16 * 1024;

/** Milliseconds for the whole answer: a user waits for the page. */
const timeout = 2500;

const fields = z.looseObject({
  client_id: z.string(),
  client_name: z.string().min(1),
  redirect_uris: z.array(z.string()).nonempty(),
});

/** Whether a document of this URL may be fetched. */
export function isTrustedHost(url: string, trusted: 'any' | 'none' | readonly string[]): boolean {
  if (trusted === 'any') return true;
  if (trusted === 'none') return false;
  const host = URL.parse(url)?.host;
  return host !== undefined && trusted.includes(host);
}

export interface GuardedFetch {
  fetch(
    url: string,
    init: { readonly method?: string; readonly headers?: Headers; readonly signal?: AbortSignal },
  ): Promise<Response>;
  readonly turns: Turns;
  close(): Promise<void>;
}

interface GuardedFetchOptions {
  /** Further ones, as PEM. */
  readonly authorities?: string | undefined;
  /** URLs that the operator named. */
  readonly named: readonly string[];
  /** Milliseconds. */
  readonly now: () => number;
}

/**
 * The fetch for everything that a client or its metadata names. `issuer`: only if it is on this machine, addresses on
 * this machine are reached.
 */
export function guardedFetch(issuer: string, { authorities, named, now }: GuardedFetchOptions): GuardedFetch {
  const names = nameServer();
  const operator = operatorFetch({ authorities, find: names.find, maxLength: maxDocumentLength });
  const fetchOne: GuardedFetch['fetch'] = async (url, init) => {
    const reach = reachOf(url, { endpoint: issuer, isConfirmed: () => false });
    const signal = AbortSignal.any([AbortSignal.timeout(timeout), ...(init.signal ? [init.signal] : [])]);
    const { status, headers, text } = await operator.fetch(url, reach, {
      method: init.method ?? 'GET',
      headers: Object.fromEntries(init.headers ?? []),
      signal,
    });
    return new Response(status === 200 ? text : undefined, { status, headers });
  };
  const turns = new Turns(named, now);
  return {
    fetch: async (url, init) => turns.take(url, async () => fetchOne(url, init)),
    turns,
    async close() {
      names.close();
      await operator.close();
    },
  };
}

/** The document, with the fields that the provider doesn't insist on. Throws registration_failed. */
export function readDocument(text: string, contentType: string | null): Readonly<Record<string, unknown>> {
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType ?? ''))
    throw documentProblem('it is not sent as JSON');
  const content = parseJson(text);
  if (content === undefined) throw documentProblem('it is not JSON');
  const parsed = fields.safeParse(content);
  if (!parsed.success) {
    throw documentProblem(
      `its ${parsed.error.issues[0]?.path[0]?.toString() ?? 'content'} is missing or has a wrong form`,
    );
  }
  // The default of a registration is a shared secret, and a public document holds none.
  return { token_endpoint_auth_method: 'none', ...parsed.data };
}

/** `problem`: the end of a sentence. */
function documentProblem(problem: string): KeyturnError {
  return new KeyturnError(
    'registration_failed',
    `The client’s metadata document can’t be used: ${problem}.`,
    { rule: 'A client ID metadata document has the required fields and comes as JSON' },
  );
}
