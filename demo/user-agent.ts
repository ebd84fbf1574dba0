#!/usr/bin/env node
/**
 * A headless user agent: signs in and consents at the demo's authorization server, as a user with
 * a browser would, and hands the answer to the loopback redirect URI.
 *
 *     node demo/user-agent.ts [--account NAME] [--deny] URL
 *
 * The URL comes last, because programs append it to the browser's command. The authority to trust is read from
 * the file that KEYTURN_DEMO_CA or else NODE_EXTRA_CA_CERTS names. Exit 0: the loopback address
 * answered 2xx. Otherwise 1 and one sentence on stderr.
 *
 * Invariant: an http address is a loopback one. The sign-in ends at the first http page without a form. A cookie goes to
 * the origin that set it, and nowhere else.
 */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { Agent, type Dispatcher, fetch, type Response } from 'undici';
import { KeyturnError, quoted } from '../src/base/errors.ts';
import { withFetchMetadata } from '../src/serve/trusting-fetch.ts';

export interface UserAgentOptions {
  /** The name for the sign-in form. */
  readonly account: string;
  /** PEM text of the authority to trust; without it, the ones that Node trusts. */
  readonly ca?: string;
  /** Presses "Deny" at the consent page. */
  readonly deny?: boolean;
  /** A browser that was used before, and may be signed in still; without it, a fresh one. */
  readonly jar?: CookieJar;
}

/** What the loopback redirect URI answered. */
export interface LoopbackAnswer {
  readonly status: number;
  readonly page: string;
}

/** A whole sign-in takes seven requests; nearly three times that is a loop. */
const maxSteps = 20;

/** What browsers say of a page in a tab. */
const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' } as const;

/**
 * Signs in from an authorization URL, or the address that leads on to it, to the loopback page.
 *
 * @throws KeyturnError `login_failed` when a page refuses or isn't understood, `insecure_url` when
 * the way leads to an http address that isn't loopback.
 */
export async function signInAt(url: string | URL, options: UserAgentOptions): Promise<LoopbackAnswer> {
  const agent = new Agent({ connect: options.ca === undefined ? {} : { ca: options.ca } });
  const browser = withFetchMetadata(agent, navigation);
  try {
    const jar = options.jar ?? new CookieJar();
    let next: Step = { url: new URL(url) };
    for (let step = 0; step < maxSteps; step += 1) {
      const response = await request(next, jar, browser);
      const page = await response.text();
      if (next.url.protocol === 'http:' && !isRedirect(response) && !isForm.test(page)) {
        if (/<form/i.test(page))
          throw new KeyturnError(
            'login_failed',
            `${quoted(next.url.pathname)} has a form that this program does not know.`,
          );
        return { status: response.status, page };
      }
      next = nextStep(next.url, response, page, options);
    }
    throw new KeyturnError('login_failed', `The sign-in did not end within ${maxSteps} pages.`);
  } finally {
    await agent.destroy();
  }
}

interface Step {
  readonly url: URL;
  /** Present: the form is sent by POST. */
  readonly form?: Readonly<Record<string, string>>;
}

/** A page of an authorization server: it asks who signs in, or for the consent. */
const isForm = /<(input|button)[^>]* name="(login|decision)"/;

const loopbackHosts = new Set(['127.0.0.1', '[::1]', 'localhost']);

async function request(step: Step, jar: CookieJar, browser: Dispatcher): Promise<Response> {
  const plain = step.url.protocol === 'http:';
  if (plain ? !loopbackHosts.has(step.url.hostname) : step.url.protocol !== 'https:') {
    throw new KeyturnError(
      'insecure_url',
      `The sign-in leads to ${quoted(step.url.origin)}, which isn't https.`,
    );
  }
  const headers: Record<string, string> = { accept: 'text/html' };
  const cookies = jar.header(step.url);
  if (cookies) headers['cookie'] = cookies;
  const response = await fetch(step.url, {
    redirect: 'manual',
    dispatcher: browser,
    headers,
    ...(step.form ? { method: 'POST', body: new URLSearchParams(step.form) } : {}),
  });
  jar.keep(step.url, response.headers.getSetCookie());
  return response;
}

const isRedirect = ({ status }: Response): boolean => status >= 300 && status < 400;

function nextStep(current: URL, response: Response, page: string, options: UserAgentOptions): Step {
  const location = response.headers.get('location');
  if (location !== null && isRedirect(response)) {
    return { url: new URL(location, current) };
  }
  if (!response.ok) {
    throw new KeyturnError(
      'login_failed',
      `${quoted(current.pathname)} answered ${response.status}: ${quoted(textOf(page))}.`,
    );
  }
  const action = /<form[^>]*\saction="([^"]*)"/.exec(page)?.[1];
  if (action === undefined) {
    throw new KeyturnError('login_failed', `${quoted(current.pathname)} has neither a form nor a redirect.`);
  }
  const decision = options.deny ? 'deny' : 'allow';
  return {
    url: new URL(action, current),
    form: {
      ...hiddenFields(page),
      ...(page.includes('name="login"') ? { login: options.account } : { decision }),
    },
  };
}

/** As a browser sends them with the form. */
function hiddenFields(page: string): Record<string, string> {
  const fields = page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  return Object.fromEntries([...fields].map(([, name = '', value = '']) => [name, value]));
}

/** The words of a page, on one line. */
function textOf(page: string): string {
  return page
    .replace(/<style>.*?<\/style>|<[^>]*>/gs, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

interface Cookie {
  readonly pair: string;
  readonly origin: string;
  readonly path: string;
}

/** Cookies by origin, name and path. RFC 6265 §5.3 has a host for our origin: here servers differ by their ports. */
export class CookieJar {
  readonly #cookies = new Map<string, Cookie>();

  keep({ origin }: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split(/;\s*/);
      const named = new Map(
        attributes.map((attribute) => [attribute.split('=', 1)[0]?.toLowerCase(), attribute]),
      );
      const path = named.get('path')?.slice('path='.length) ?? '/';
      const key = `${origin};${pair.split('=', 1)[0]};${path}`;
      const expires = named.get('expires')?.slice('expires='.length);
      if (expires !== undefined && Date.parse(expires) <= Date.now()) this.#cookies.delete(key);
      else this.#cookies.set(key, { pair, origin, path });
    }
  }

  header({ origin, pathname }: URL): string {
    return this.#cookies
      .values()
      .filter((cookie) => cookie.origin === origin && pathMatches(pathname, cookie.path))
      .map((cookie) => cookie.pair)
      .toArray()
      .join('; ');
  }
}

/** RFC 6265 §5.1.4. */
function pathMatches(path: string, cookiePath: string): boolean {
  if (path === cookiePath) return true;
  return path.startsWith(cookiePath.endsWith('/') ? cookiePath : `${cookiePath}/`);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { account: { type: 'string', default: 'alice' }, deny: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const url = positionals.at(-1);
  if (url === undefined || !URL.canParse(url)) {
    throw new KeyturnError('invalid_request', 'usage: user-agent [--account NAME] [--deny] URL');
  }
  const caFile = process.env['KEYTURN_DEMO_CA'] || process.env['NODE_EXTRA_CA_CERTS'];
  const trust = caFile ? { ca: await readFile(caFile, 'utf8') } : {};
  const { status } = await signInAt(url, { account: values.account, deny: values.deny, ...trust });
  if (status < 200 || status > 299) {
    throw new KeyturnError('login_failed', `The loopback address answered ${status}.`);
  }
}

// Not `import.meta.main`: Node 22 has none.
if (process.argv[1] === import.meta.filename) {
  try {
    await main();
  } catch (error) {
    // Only messages of ours: another error could name the URL, which holds the state.
    const message = error instanceof KeyturnError ? error.message : `The sign-in failed (${nameOf(error)}).`;
    process.stderr.write(`${message}\n`);
    process.exitCode = 1;
  }
}

/** A name that tells what went wrong without repeating what was sent: ECONNREFUSED rather than a message. */
function nameOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return 'unknown error';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
}
