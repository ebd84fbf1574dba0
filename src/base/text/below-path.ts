/**
 * Which URLs lie at or below another one: the same origin, and a path that begins with its path, at the boundary of a
 * segment. The one rule for all who ask.
 *
 * Invariant: false if any spelling of `..` in the path leads out again at a careless server: decoded more than once, with a
 * backslash, with parameters or blanks behind it.
 */
import { invisible } from './visible.ts';

/** Each server and proxy on the way may decode once more; nobody has that many of them. */
const maxDecodings = 5;

/** `..;x` is `..` for servers that cut a segment's parameters (RFC 3986 §3.3), `...` and `..:x` for Windows. */
const climbing = /^\.{2,}(?:[;?#:].*)?$/s;

/** Some servers read these as slashes, and drop what can't be seen. Letters of full width become plain ones (NFKC). */
const slashes = /[/\\\u2044\u2215]/;
let dropped: RegExp | undefined;

function isClimbing(segment: string): boolean {
  dropped ??= new RegExp(String.raw`[\s${invisible}]`, 'gu');
  return climbing.test(segment.replace(dropped, ''));
}

/** A pattern would read a long row of slashes again from each of them. */
export function withoutEndSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

/** A slash at the end of either path makes no difference. */
export function isBelow(outer: URL, inner: URL): boolean {
  // Each opaque origin is written "null", but no two of them are the same origin.
  if (outer.origin === 'null' || outer.origin !== inner.origin) return false;
  const prefix = withoutEndSlashes(outer.pathname);
  const path = withoutEndSlashes(inner.pathname);
  return (path === prefix || path.startsWith(`${prefix}/`)) && !climbs(inner.pathname);
}

/** True if a careless server may find `..` in this path, or if nobody can tell what it finds. */
export function climbs(pathname: string): boolean {
  // Most paths need no second look. All else that a URL has is escaped.
  if (!/\.\.|%/.test(pathname)) return false;
  let text = pathname;
  for (let decoding = 0; decoding < maxDecodings; decoding += 1) {
    if (text.normalize('NFKC').split(slashes).some(isClimbing)) return true;
    if (!text.includes('%')) return false;
    try {
      text = decodeURIComponent(text);
    } catch {
      // A lone percent sign that was written %25 is no other spelling; what isn't UTF-8 can't be foreseen.
      return decoding === 0 || /%2[ef5]|%5c|%3b/i.test(text);
    }
  }
  return true;
}
