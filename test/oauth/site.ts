/** A bent server with answers that a test lays down by path, and nothing else. It records what it was asked. */
import { afterAll, beforeEach } from 'vitest';
import type { Http } from '../../src/oauth/base/http.ts';
import { trustingFetch } from '../../src/serve/trusting-fetch.ts';
import { openBentServer, stalled, type Answer } from '../support/bent/server.ts';

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

/** An origin where nobody listens: its port was free a moment ago. */
export async function deadOrigin(): Promise<string> {
  const site = await openSite();
  await site.close();
  return site.origin;
}

/** The time of every test, in ms: 2030-01-01. */
export const now = Date.UTC(2030, 0, 1);

function answerOf({ hangs = false, body, ...page }: Page): Answer {
  if (hangs) return { ...stalled(typeof body === 'string' ? body : undefined), ...page };
  return { ...page, body: Buffer.isBuffer(body) ? new Uint8Array(body) : body };
}

/** `ca`: PEM text of the authority to trust. */
export async function openSite() {
  const server = await openBentServer();
  const trusting = trustingFetch(server.ca);
  const pages = new Map<string, Page | ((asked: Asked) => Page)>();
  const asked: Asked[] = [];
  server.on('*', '*', ({ method, url, headers, body }) => {
    const one = { method, path: url.pathname + url.search, headers, body };
    asked.push(one);
    const laid = pages.get(url.pathname) ?? { status: 404 };
    return answerOf(typeof laid === 'function' ? laid(one) : laid);
  });
  return {
    origin: server.origin,
    ca: server.ca,
    http: { fetch: trusting.fetch, now: () => now, wall: () => now, allowInsecureLoopback: false } as Http,
    asked,
    /** What `path` answers from now on; a function decides anew each time. Others answer 404. */
    lay: (path: string, page: Page | ((asked: Asked) => Page)) => void pages.set(path, page),
    clear() {
      pages.clear();
      asked.length = 0;
    },
    async close() {
      await trusting.close();
      await server.close();
    },
  };
}

export type Site = Awaited<ReturnType<typeof openSite>>;

/** One site for a file of tests: empty before each test, closed after the last. */
export async function siteOfFile(): Promise<Site> {
  const site = await openSite();
  beforeEach(() => site.clear());
  afterAll(() => site.close());
  return site;
}
