/**
 * The page of our windows: the built files of renderer/, under a scheme of our own.
 *
 * Invariant: nothing but files below that folder is served, read only, under a policy that allows no
 * inline script, no inline style, no form, no frame and no address outside. There is one origin.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { CustomScheme } from 'electron';

/** The name for `protocol.handle`. */
export const pageSchemeName = 'keyturn-app';

/** The origin of all our windows. */
export const pageOrigin = `${pageSchemeName}://main`;

/** What windows load. */
export const entryPage = `${pageOrigin}/index.html`;

/**
 * For `protocol.registerSchemesAsPrivileged`, before the app is ready. Standard and secure: it has an
 * origin, relative addresses and `'self'`. No right to bypass a policy, to be fetched or to start workers.
 */
export const pageScheme: CustomScheme = {
  scheme: pageSchemeName,
  privileges: { standard: true, secure: true },
};

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "worker-src 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const headers = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), clipboard-read=()',
  'cache-control': 'no-store',
};

/** What vite writes. A file of another kind is not served. */
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** True for an address of our page's own origin. */
export function isOwnUrl(url: string): boolean {
  const parsed = URL.parse(url);
  // A scheme that only the browser knows has no `origin` here.
  return parsed?.protocol === `${pageSchemeName}:` && parsed.host === 'main' && parsed.username === '';
}

/** True for the one document that a window may show; what follows `#` is the page's own business. */
export function isEntryPage(url: string): boolean {
  return url.split('#', 1)[0] === entryPage;
}

/** Answers the scheme's requests with the files of `folder`. For `protocol.handle`. */
export function servePage(folder: string): (request: Request) => Promise<Response> {
  return async (request) => {
    const file = request.method === 'GET' ? fileFor(folder, request.url) : undefined;
    const type = file === undefined ? undefined : types[path.extname(file)];
    if (file === undefined || type === undefined) return notFound();
    try {
      const body = await readFile(file);
      return new Response(new Uint8Array(body), { headers: { ...headers, 'content-type': type } });
    } catch {
      return notFound();
    }
  };
}

function fileFor(folder: string, url: string): string | undefined {
  if (!isOwnUrl(url)) return undefined;
  try {
    const name = decodeURIComponent(new URL(url).pathname);
    const file = path.join(folder, name);
    // An encoded `..` or NUL gets past the URL's own tidying.
    return file.startsWith(folder + path.sep) && !name.includes('\0') ? file : undefined;
  } catch {
    return undefined;
  }
}

function notFound(): Response {
  return new Response('Not found', { status: 404, headers: { ...headers, 'content-type': 'text/plain' } });
}
