/**
 * Which requests the proxy takes, before it looks at anything else of them.
 *
 * Invariant: a request names this very address in its Host, comes from no page of a browser, and has exactly the path
 * of the proxy, byte by byte: nothing is decoded, and nothing below it is served. The path is compared in constant
 * time.
 */
import type { IncomingMessage } from 'node:http';
import { constantTimeEqual } from '../base/constant-time.ts';
import { HttpRefusal } from './http-refusal.ts';
import type { ProxyEntry } from './messages.ts';

/** What the protocol's HTTP transport sends. */
const methods = ['POST', 'GET', 'DELETE'];

/** Headers that say what a message is, so that there may be one of each: two readers could choose differently. */
const single = new Set(['host', 'content-length', 'content-type', 'transfer-encoding', 'authorization']);

/** The query of a request that is taken, with its `?`, or empty. Throws `HttpRefusal`. */
export function checkRequest(request: IncomingMessage, entry: ProxyEntry): string {
  refuseDoubled(request);
  refuseForeignHost(request, entry);
  refusePages(request);
  const query = queryAfterPath(request, entry);
  const { method = '' } = request;
  if (!methods.includes(method)) {
    throw new HttpRefusal(405, 'invalid_request', `the proxy takes no ${method.slice(0, 16)} requests`, {
      rule: 'MCP, streamable HTTP: a client sends POST, GET and DELETE',
      headers: { allow: methods.join(', ') },
    });
  }
  refuseUpgrade(request);
  return query;
}

function refuseDoubled({ rawHeaders }: IncomingMessage): void {
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  const doubled = names.find((name, index) => single.has(name) && names.indexOf(name) !== index);
  if (doubled === undefined) return;
  throw new HttpRefusal(400, 'invalid_request', `the request has two ${doubled} headers`, {
    rule: 'RFC 9110 §5.3',
  });
}

/** A page may have pointed a name of its own at this machine (DNS rebinding): the browser then sends that name. */
function refuseForeignHost({ headers }: IncomingMessage, { port }: ProxyEntry): void {
  if (headers.host === `127.0.0.1:${port}`) return;
  throw new HttpRefusal(403, 'not_permitted', 'the request is for another host', {
    rule: 'MCP, streamable HTTP, Security: local servers refuse foreign names',
    hint: 'Use the address as `keyturn proxy list` shows it, with 127.0.0.1.',
  });
}

/** Browsers say which page asks. Programs don't; Node sends only `Sec-Fetch-Mode`. */
export const isOfPage = ({ headers }: IncomingMessage): boolean =>
  headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;

function refusePages(request: IncomingMessage): void {
  if (!isOfPage(request)) return;
  throw new HttpRefusal(403, 'not_permitted', 'the proxy serves no pages of a browser', {
    rule: 'MCP, streamable HTTP, Security: local servers check the Origin header',
    hint: 'Use it from an app that sends no Origin header.',
  });
}

function queryAfterPath({ url = '' }: IncomingMessage, { path }: ProxyEntry): string {
  const mark = url.indexOf('?');
  const asked = mark === -1 ? url : url.slice(0, mark);
  if (constantTimeEqual(asked, `/${path}/mcp`)) return mark === -1 ? '' : url.slice(mark);
  throw new HttpRefusal(404, 'not_found', 'there is nothing at this address', {
    hint: '`keyturn proxy list` shows the addresses there are; a rotated one has another path.',
  });
}

/** An offer of HTTP/2 may be left unanswered (RFC 9110 §7.8), and some clients always make it. */
function refuseUpgrade({ headers }: IncomingMessage): void {
  if (headers.upgrade === undefined || headers.upgrade.toLowerCase() === 'h2c') return;
  throw new HttpRefusal(400, 'invalid_request', 'the proxy changes to no other protocol', {
    rule: 'MCP, streamable HTTP: there are no WebSockets',
  });
}
