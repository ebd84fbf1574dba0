/**
 * Fetching a JSON document that a server publishes about itself, within bounds.
 *
 * Invariant: "absent" (the server says there is none) and "invalid" (something is there that breaks
 * a rule) are different answers, and an unreachable server is neither.
 */
import type { JsonObject } from 'openid-client';

import { quoted, RuleRefusal } from '../errors.ts';
import type { KeyturnError } from '../errors.ts';
import { deadline, isTransient, send, unreachableReply } from './http.ts';
import type { Http, Reply, UnreachableReason } from './http.ts';
import { requireSecureUrl } from './secure-url.ts';

export type MetadataAnswer =
  | { readonly kind: 'found'; readonly url: string; readonly json: JsonObject }
  | { readonly kind: 'absent'; readonly status: number };

/** 10 s for the document and all its redirects, the design's bound. */
const timeLimit = 10_000;

/** 3, the design's bound: enough for http caches and renamed paths, too few to wander. */
const mostRedirects = 3;

/** 16 levels: the documents of RFC 8414, RFC 9728 and OpenID Connect need three; extensions may nest. */
const deepestNesting = 16;

/**
 * GET `url`. Throws insecure_url, metadata_invalid (RuleRefusal), or Unreachable with `reason`.
 * A 4xx is "absent": servers answer 401 or 403, and sometimes 400 or 405, where 404 is meant.
 */
export async function fetchMetadata(
  url: string,
  http: Http,
  reason: UnreachableReason,
): Promise<MetadataAnswer> {
  const signal = deadline(http, timeLimit);
  let at = requireSecureUrl(url, 'the metadata document', http);
  for (let redirects = 0; ; redirects += 1) {
    const outgoing = { url: at.href, what: 'the metadata document', signal };
    const reply = await send(
      http,
      { ...outgoing, method: 'GET', headers: { accept: 'application/json' } },
      reason,
    );
    if (isTransient(reply.status)) throw unreachableReply(http, reply, outgoing, reason);
    if (isRedirect(reply.status)) {
      if (redirects >= mostRedirects) throw invalid(at, `redirects more than ${mostRedirects} times`);
      at = redirectTarget(at, reply, http);
      continue;
    }
    if (reply.status >= 400) return { kind: 'absent', status: reply.status };
    if (reply.status !== 200) throw invalid(at, `was answered with status ${reply.status}`);
    return { kind: 'found', url: at.href, json: readDocument(at, reply) };
  }
}

/**
 * The first document that exists among `urls`, in order. An invalid one (say, a web page where the
 * document should be) doesn't hide the next location, but is reported if no other is found.
 */
export async function firstMetadata(
  urls: readonly string[],
  http: Http,
  reason: UnreachableReason,
): Promise<Extract<MetadataAnswer, { kind: 'found' }> | undefined> {
  let refused: KeyturnError | undefined;
  for (const url of urls) {
    try {
      const answer = await fetchMetadata(url, http, reason);
      if (answer.kind === 'found') return answer;
    } catch (error) {
      if (!(error instanceof RuleRefusal && error.reason === 'metadata_invalid')) throw error;
      refused ??= error;
    }
  }
  if (refused !== undefined) throw refused;
  return undefined;
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/** Same origin only: a document about one server is never taken from another. */
function redirectTarget(from: URL, reply: Reply, http: Http): URL {
  const target = URL.parse(reply.headers.get('location') ?? '', from.href);
  if (target === null) throw invalid(from, 'redirects to nowhere');
  if (target.origin !== from.origin)
    throw invalid(from, `redirects to another origin, ${quoted(target.origin)}`);
  return requireSecureUrl(target.href, 'the metadata document', http);
}

function readDocument(url: URL, reply: Reply): JsonObject {
  const type = reply.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  // RFC 8414 §3.2 and RFC 9728 §3.2: application/json; the +json types of extensions say the same.
  if (!/^application\/(?:[\w.-]+\+)?json$/.test(type)) throw invalid(url, `is not JSON but ${quoted(type)}`);
  if (reply.text === undefined) throw invalid(url, 'is longer than 256 KiB or not UTF-8');
  const json = parseJsonObject(reply.text);
  if (json === undefined) throw invalid(url, 'is not a JSON object');
  if (!isShallow(json)) throw invalid(url, `nests deeper than ${deepestNesting} levels`);
  return json;
}

/** The object that `text` holds, or undefined if it holds anything else. */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // JSON.parse makes nothing but JSON values: an object of its is a JsonObject.
    return isObject(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Level by level, not recursive: depth is what is being bounded. */
function isShallow(json: JsonObject): boolean {
  let level: unknown[] = [json];
  for (let depth = 0; depth < deepestNesting; depth += 1) {
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
      hint: 'The server has to publish it as a JSON object of its own. Tell whoever runs the server.',
    },
  );
}
