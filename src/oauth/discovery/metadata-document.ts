/**
 * Fetches a JSON document that a server publishes about itself, with limits of size, time, redirects and depth.
 *
 * Invariant: three results differ: "absent" (the server refuses the request), "page" (a web page is there), "invalid" (a
 * document that breaks a rule). An unreachable server is an error. Well-known locations are alternatives: one that has a
 * useless answer doesn't hide the others.
 */
import type { JsonObject } from 'openid-client';
import { parseJsonObject } from '../base/json-object.ts';
import { z } from 'zod';
import { quoted, RuleRefusal, Unreachable } from '../../base/errors.ts';
import type { KeyturnError } from '../../base/errors.ts';
import { deadline, isTransient, send, unreachableReply } from '../base/http.ts';
import type { Http, HttpReply, UnreachableReason } from '../base/http.ts';
import { freshUntil } from '../base/http-time.ts';
import { requireSecureUrl } from '../base/secure-url.ts';

export type MetadataAnswer =
  | FoundDocument
  | {
      /**
       * `page`: a 200 whose content neither is JSON nor claims to be. Web applications answer like this at unknown
       * paths. `absent`: a 4xx that isn't temporary.
       */
      readonly kind: 'absent' | 'page';
      readonly status: number;
    };

export interface FoundDocument {
  readonly kind: 'found';
  /** Its URL after redirects. */
  readonly url: string;
  readonly json: JsonObject;
  /** Until when the HTTP headers allow to keep it, at most a day: milliseconds, steady. */
  readonly freshUntil: number;
}

/** 10 s for the document and all its redirects: a user waits for a sign-in. */
const requestTimeout = 10_000;

/** A slash at the end and a renamed path take one redirect each. More look like a loop. */
const maxRedirects = 3;

/** 16 levels: the documents of RFC 8414, RFC 9728 and OpenID Connect need three; extensions may need more. */
const maxNesting = 16;

/** Entries that are no text are left out. Some servers write one text, with spaces or commas between the entries. */
export const textList = z
  .union([z.array(z.unknown()), z.string().transform((text): unknown[] => text.split(/[\s,]+/))])
  .transform((entries) =>
    entries.filter((entry) => typeof entry === 'string').filter((entry) => entry !== ''),
  );

/** Throws insecure_url, metadata_invalid (RuleRefusal), or Unreachable with `reason`. */
export async function fetchMetadata(
  url: string,
  http: Http,
  reason: UnreachableReason,
  headers: Readonly<Record<string, string>> = {},
): Promise<MetadataAnswer> {
  const signal = deadline(http, requestTimeout);
  let at = requireSecureUrl(url, 'the metadata document', http);
  for (let redirects = 0; ; redirects += 1) {
    const outgoing = { url: at.href, what: 'the metadata document', signal };
    const reply = await send(
      http,
      { ...outgoing, method: 'GET', headers: { ...headers, accept: 'application/json' } },
      reason,
    );
    if (isTransient(reply.status)) throw unreachableReply(http, reply, outgoing, reason);
    if ([301, 302, 303, 307, 308].includes(reply.status)) {
      if (redirects >= maxRedirects) throw invalid(at, `redirects more than ${maxRedirects} times`);
      at = redirectTarget(at, reply, http);
      continue;
    }
    if (reply.status >= 400) return { kind: 'absent', status: reply.status };
    if (reply.status !== 200) throw invalid(at, `was answered with status ${reply.status}`);
    if (isPage(reply)) return { kind: 'page', status: reply.status };
    const json = readDocument(at, reply);
    return {
      kind: 'found',
      url: at.href,
      json,
      freshUntil: freshUntil(reply.headers, http.now(), http.wall()),
    };
  }
}

/** The field that a document is for, and what it should say. */
export interface Needed {
  readonly field: string;
  readonly values?: readonly unknown[] | undefined;
}

/**
 * The first document at `urls`, in order, whose field says what it should; else the first one with the field, else the
 * first one: servers answer unknown paths with JSON of their own, or with the document of another path. If each location
 * is absent or a page: `page` if there was one, else `absent`. Throws if a location that could not be asked may have the
 * first of these, or if no document is found and one could not be read.
 */
export async function firstMetadata(
  urls: readonly string[],
  { field, values }: Needed,
  http: Http,
  reason: UnreachableReason,
  headers: Readonly<Record<string, string>> = {},
): Promise<FoundDocument | 'absent' | 'page'> {
  let other: FoundDocument | undefined;
  let none: 'absent' | 'page' = 'absent';
  let refused: KeyturnError | undefined;
  let trouble: Unreachable | undefined;
  for (const url of urls) {
    try {
      const answer = await fetchMetadata(url, http, reason, headers);
      if (answer.kind === 'page') none = 'page';
      if (answer.kind !== 'found') continue;
      const hasField = field in answer.json;
      if (hasField && (values?.includes(answer.json[field]) ?? true)) return answer;
      if (!other || (hasField && !(field in other.json))) other = answer;
    } catch (error) {
      if (error instanceof Unreachable) trouble ??= error;
      else if (error instanceof RuleRefusal && error.reason === 'metadata_invalid') refused ??= error;
      else throw error;
    }
  }
  const error = trouble ?? (other ? undefined : refused);
  if (error !== undefined) throw error;
  return other ?? none;
}

/** Follows redirects within the origin only, so that no server publishes metadata of another one. */
function redirectTarget(from: URL, reply: HttpReply, http: Http): URL {
  const target = URL.parse(reply.headers.get('location') ?? '', from.href);
  if (target === null) throw invalid(from, 'redirects to nowhere');
  if (target.origin !== from.origin)
    throw invalid(from, `redirects to another origin, ${quoted(target.origin)}`);
  return requireSecureUrl(target.href, 'the metadata document', http);
}

/** Text that begins like JSON is a document, whatever its type says. `readDocument` refuses one that is called a page. */
function isPage(reply: HttpReply): boolean {
  // RFC 8414 §3.2 and RFC 9728 §3.2: application/json. A type that ends in +json is JSON too.
  const isJson = /^application\/(?:[\w.-]+\+)?json$/.test(typeOf(reply));
  return !isJson && !/^\s*[[{]/.test(reply.text ?? '');
}

function typeOf({ headers }: HttpReply): string {
  return headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
}

function readDocument(url: URL, reply: HttpReply): JsonObject {
  const type = typeOf(reply);
  // The names of these documents have no extension, so that plain file servers don't know their type.
  // What browsers run or show as a page is refused: people's own texts are served so, also at well-known paths.
  if (/html|javascript|^(?:image|multipart|message)\//.test(type))
    throw invalid(url, `is not JSON but ${quoted(type)}`);
  if (reply.text === undefined) throw invalid(url, 'is longer than 256 KiB or not UTF-8');
  const json = parseJsonObject(reply.text);
  if (json === undefined) throw invalid(url, 'is not a JSON object');
  if (!isShallow(json)) throw invalid(url, `nests deeper than ${maxNesting} levels`);
  // Some servers write null or "" instead of leaving a field out.
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null && value !== ''));
}

/** True if the document has at most `maxNesting` levels. Not recursive, so that a deep document can't fill the stack. */
function isShallow(json: JsonObject): boolean {
  let level: unknown[] = [json];
  for (let depth = 0; depth < maxNesting; depth += 1) {
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
    if (level.length === 0) return true;
  }
  return false;
}

function invalid(url: URL, problem: string): RuleRefusal {
  return new RuleRefusal(
    'metadata_invalid',
    `The metadata document ${quoted(url.origin + url.pathname)} ${problem}.`,
    {
      rule: 'RFC 8414 §3.2, RFC 9728 §3.2',
      hint: 'The server has to publish it as a JSON object of its own. Tell the operator of the server.',
    },
  );
}
