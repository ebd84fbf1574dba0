/**
 * Times in HTTP headers: when to ask again, and how long a response may be kept.
 *
 * Invariant: a date in a header is compared with the Date header of the same response, so that a wrong clock on either
 * side changes no duration. Every duration has a limit.
 */

export interface HttpHeaders {
  get(name: string): string | null;
}

/** A day, in seconds: we ask again after a day even if the server says later. */
const maxRetryAfter = 24 * 60 * 60;

/** A day, in ms: after at most a day we notice that an endpoint moved or a key was withdrawn. */
const maxFreshness = 24 * 60 * 60 * 1000;

/** An hour, in ms, for a response without such headers: metadata changes rarely, and each sign-in fetches it again. */
const defaultFreshness = 60 * 60 * 1000;

/** RFC 9110 §5.6.7: a date starts with the name of a day. Date.parse alone takes "-5" for a year. */
export function httpDate(value: string | null): number | undefined {
  const time = /^[A-Za-z]{3}/.test(value?.trim() ?? '') ? Date.parse(value ?? '') : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** Seconds, from either form of Retry-After (RFC 9110 §10.2.3); `now` by the wall clock, in ms. */
export function retryAfterSeconds(headers: HttpHeaders, now: number): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? '';
  const until = /^\d+$/.test(text) ? Number(text) * 1000 : millisecondsUntil(text, headers, now);
  return until === undefined ? undefined : Math.min(Math.max(Math.ceil(until / 1000), 0), maxRetryAfter);
}

function millisecondsUntil(text: string | null, headers: HttpHeaders, now: number): number | undefined {
  const time = httpDate(text);
  return time === undefined ? undefined : time - (httpDate(headers.get('date')) ?? now);
}

/**
 * Until when a response that came at `now` may be kept. Both are steady, in ms; `wall` is `now` by the wall clock.
 * RFC 9111 §4.2.1: max-age counts before Expires. The result is `now` for no-store, no-cache, and a response that has
 * already expired.
 */
export function freshUntil(headers: HttpHeaders, now: number, wall: number = now): number {
  return now + Math.min(Math.max(freshness(headers, wall), 0), maxFreshness);
}

function freshness(headers: HttpHeaders, now: number): number {
  const directives = (headers.get('cache-control') ?? '')
    .toLowerCase()
    .split(',')
    .map((part) => part.trim());
  // RFC 9111 §5.2.2: with or without an argument.
  if (directives.some((directive) => /^no-(?:store|cache)(?:=|$)/.test(directive))) return 0;
  const ages = directives.flatMap((directive) => /^max-age="?(\d+)"?$/.exec(directive)?.[1] ?? []);
  // Of several, the shortest.
  if (ages.length > 0) return Math.min(...ages.map(Number)) * 1000 - age(headers);
  const expires = headers.get('expires');
  if (expires === null) return defaultFreshness;
  // RFC 9111 §5.3: an invalid date, above all "0", means expired.
  return millisecondsUntil(expires, headers, now) ?? 0;
}

/** RFC 9111 §5.1: how long the response was in a cache on its way, in ms. */
function age(headers: HttpHeaders): number {
  const text = headers.get('age')?.trim() ?? '';
  return /^\d+$/.test(text) ? Number(text) * 1000 : 0;
}
