/**
 * A real HTTPS server whose answers a test writes down, for metadata and endpoints in odd shapes.
 *
 * Invariant: it serves only what the test laid down, records what it was asked, and is gone after `close`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

import { afterAll, beforeEach } from 'vitest';

import type { Http } from '../../src/oauth/base/http.ts';
import { throwAwayCertificates } from '../../src/serve/certificate.ts';
import { listenOnLoopback } from '../../src/serve/tls-listener.ts';
import { trustingFetch } from '../../src/serve/trusting-fetch.ts';

export interface Page {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** An object is written as JSON, with its content type; a Buffer as it is. */
  readonly body?: string | Buffer | object;
  /** The head is sent and the answer never ends. */
  readonly hangs?: boolean;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface Site {
  readonly origin: string;
  /** PEM text of the authority to trust. */
  readonly ca: string;
  readonly http: Http;
  readonly asked: Asked[];
  /** What `path` answers from now on; a function decides anew each time. Others answer 404. */
  lay(path: string, page: Page | ((asked: Asked) => Page)): void;
  clear(): void;
  close(): Promise<void>;
}

/** An origin where nobody listens: its port was free a moment ago. */
export async function deadOrigin(): Promise<string> {
  const site = await openSite();
  await site.close();
  return site.origin;
}

/** The time of every test, in ms: 2030-01-01. */
export const now = Date.UTC(2030, 0, 1);

function bytesOf(body: Page['body']): string | Buffer {
  if (typeof body !== 'object' || Buffer.isBuffer(body)) return body ?? '';
  return JSON.stringify(body);
}

export async function openSite(): Promise<Site> {
  const certificates = await throwAwayCertificates();
  const listener = await listenOnLoopback(certificates, 0);
  const trusting = trustingFetch(certificates.ca);
  const pages = new Map<string, Page | ((asked: Asked) => Page)>();
  const asked: Asked[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '/';
    const body = await text(request);
    const one = { method: request.method ?? '', path, headers: request.headers, body };
    asked.push(one);
    const laid = pages.get(path.split('?')[0] ?? path) ?? { status: 404 };
    const page = typeof laid === 'function' ? laid(one) : laid;
    const isJson = typeof page.body === 'object' && !Buffer.isBuffer(page.body);
    response.writeHead(page.status ?? 200, {
      ...(isJson ? { 'content-type': 'application/json' } : {}),
      ...page.headers,
    });
    response.write(bytesOf(page.body));
    if (!page.hangs) response.end();
  };
  listener.serve((request, response) => void answer(request, response));
  return {
    origin: listener.origin,
    ca: certificates.ca,
    http: { fetch: trusting.fetch, now: () => now, wall: () => now, allowInsecureLoopback: false },
    asked,
    lay: (path, page) => void pages.set(path, page),
    clear() {
      pages.clear();
      asked.length = 0;
    },
    async close() {
      await trusting.close();
      await listener.close();
    },
  };
}

/** One site for a file of tests: empty before each test, closed after the last. */
export async function siteOfFile(): Promise<Site> {
  const site = await openSite();
  beforeEach(() => site.clear());
  afterAll(() => site.close());
  return site;
}
