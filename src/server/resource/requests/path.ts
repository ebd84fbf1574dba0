/**
 * The path of a request, and whether all who read it see the same one.
 *
 * Invariant: a path that passes here names one place, whether a handler reads the target as it was sent, the URL, or
 * the decoded path. So the scopes that were checked are those of the handler that answers.
 */
import { climbs } from '../../../base/text/below-path.ts';
import type { IncomingRequest } from '../base/incoming.ts';
import { Refusal } from '../base/refusal.ts';

/**
 * RFC 9112 §3.2.1 and §3.2.2: a path and a query, after scheme and host where the client sent the whole URL. A
 * fragment is never sent. A backslash, and a second slash at the start, are read by some as the start of a host.
 */
const requestTarget = /^(?:https?:\/\/[^/?#\\]+)?((?:\/(?!\/)[^?#\\]*)?)(?:\?[^#]*)?$/i;

/** `.` or `..` between slashes of either kind. */
const dotSegment = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/;

/** Throws a refusal for a path that can be read in more than one way. */
export function checkPath({ url: { pathname }, target }: Pick<IncomingRequest, 'url' | 'target'>): void {
  // Where the path needs no second look: no escape, and nothing that a URL leaves out or writes in another way.
  if ((target === undefined || target === pathname) && !/[%.\\]|^\/\//.test(pathname)) return;
  const path = decoded(pathname);
  // A URL has lost its dot segments, unless they are hidden behind an escaped slash (RFC 3986 §5.2.4, §6.2.2).
  if (path === undefined || dotSegment.test(path) || climbs(pathname)) throw new Refusal('path_ambiguous');
  if (target !== undefined && decoded(pathIn(target)) !== path) throw new Refusal('path_ambiguous');
}

/** Undefined: the target is none that this server reads. */
function pathIn(target: string): string | undefined {
  const [, path] = requestTarget.exec(target) ?? [];
  return path === '' ? '/' : path;
}

/** Undefined: an escape is not one of UTF-8. Readers differ in what they make of it. */
function decoded(path: string | undefined): string | undefined {
  try {
    return path === undefined ? undefined : decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
