/**
 * A real Chromium without a window, for the pages that a user would see.
 *
 * Invariant: it trusts the authority's certificates at the given origins alone. `close` removes its profile, home and
 * caches.
 */
import { X509Certificate, createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:tls';
import { type BrowserContext, chromium, type Page, type Response } from 'playwright';
import { noneRunsWith } from '../processes/process-table.ts';

/**
 * Debian's, unless a test machine keeps another one elsewhere. The headless shell is the same engine without the parts
 * that draw a browser’s own window: tests of windows take a quarter less CPU time.
 */
const program = process.env['KEYTURN_TEST_CHROMIUM'] ?? '/usr/bin/chromium-headless-shell';

export interface BrowserProfileOptions {
  /** PEM text of the authority. */
  readonly ca: string;
  /** A configuration of fontconfig in place of the machine's. */
  readonly fonts?: string;
  /** URLs of the https servers that will be visited, each reachable now; http ones are left out. */
  readonly origins: readonly string[];
  /** A domain whose hosts are all this machine to the browser. */
  readonly domain?: string;
  /** Pixels for each pixel of CSS; one unless told otherwise. */
  readonly pixelRatio?: number;
}

/**
 * Milliseconds for a press, a wait or a page: somewhat less than a test's own time, so that the message names what was
 * waited for. Playwright's 30 seconds are less than a busy machine may need.
 */
const patience = 200_000;

/** What a user does at the pages that ask. */
export interface Person {
  /** For a sign-in page; `alice` unless told otherwise. */
  readonly account?: string;
  /** Presses "Deny" at the consent page. */
  readonly deny?: boolean;
}

export async function openBrowserProfile(options: BrowserProfileOptions) {
  const pins = await Promise.all(httpsOrigins(options.origins).map(async (url) => keyPin(url, options.ca)));
  const folder = await mkdtemp(path.join(tmpdir(), 'keyturn-browser-'));
  try {
    const switches = [
      ...(pins.length > 0 ? [`--ignore-certificate-errors-spki-list=${pins.join(',')}`] : []),
      ...(options.domain === undefined ? [] : [`--host-resolver-rules=MAP *.${options.domain} 127.0.0.1`]),
    ];
    const fonts: Record<string, string> =
      options.fonts === undefined ? {} : { FONTCONFIG_FILE: options.fonts };
    const context = await launchChromium(
      folder,
      ['--no-proxy-server', ...switches],
      fonts,
      options.pixelRatio,
    );
    const page = context.pages()[0] ?? (await context.newPage());
    return {
      page,
      /** Goes to a URL as an opened browser does, signs in and consents where a page asks, up to a page that asks nothing. */
      open: (url: string, person: Person = {}) => goThrough(page, url, person),
      async close() {
        await context.close();
        await removeProfile(folder);
      },
    };
  } catch (error) {
    await removeProfile(folder);
    throw error;
  }
}

/**
 * Chromium with its profile, home and caches in `folder`; `switches` beside those that every test needs. It ends
 * with the test's process, whose signals are left to the test.
 */
export async function launchChromium(
  folder: string,
  switches: readonly string[],
  env: Readonly<Record<string, string>> = {},
  pixelRatio = 1,
): Promise<BrowserContext> {
  const context = await chromium.launchPersistentContext(folder, {
    timeout: patience,
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    executablePath: program,
    headless: true,
    deviceScaleFactor: pixelRatio,
    // Root can't use Chromium's sandbox; every page here is one of the test's own.
    chromiumSandbox: false,
    // A home of its own, so that certificates, fonts' caches and crash reports go there too.
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, TMPDIR: folder, ...env },
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // A process for each page costs more than what the page does. Nothing here tests that pages are kept apart.
      '--renderer-process-limit=1',
      ...switches,
    ],
  });
  context.setDefaultTimeout(patience);
  return context;
}

/** Removes the folder of a browser that was closed. Its helpers end a moment later, and write until then. */
export async function removeProfile(folder: string): Promise<void> {
  await noneRunsWith(`HOME=${folder}`);
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

function httpsOrigins(urls: readonly string[]): string[] {
  const parsed = urls.map((url) => new URL(url)).filter((url) => url.protocol === 'https:');
  return [...new Set(parsed.map((url) => url.origin))];
}

/** The hash of the key of a server that the authority vouches for; rejects for any other server. */
async function keyPin(origin: string, ca: string): Promise<string> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port || 443), ca });
  try {
    await once(socket, 'secureConnect');
    const certificate = new X509Certificate(socket.getPeerCertificate().raw);
    const key = certificate.publicKey.export({ type: 'spki', format: 'der' });
    return createHash('sha256').update(key).digest('base64');
  } finally {
    socket.destroy();
  }
}

/** Sign-in, its complaint, consent: more pages than that are a loop. */
const maxPages = 6;

async function goThrough(page: Page, url: string, person: Person) {
  let last: Response | null = await page.goto(url);
  for (let step = 0; step < maxPages; step += 1) {
    const act = await actionOf(page, person);
    if (act === undefined) {
      return { status: last?.status() ?? 0, url: page.url(), text: await page.locator('body').innerText() };
    }
    [last] = await Promise.all([pageAfter(page), page.waitForEvent('load'), act()]);
  }
  throw new Error(`the sign-in did not end within ${maxPages} pages`);
}

/** The next page's response; rejects at once where nobody answers, since a browser shows a page of its own then. */
async function pageAfter(page: Page): Promise<Response> {
  const failed = page.waitForEvent('requestfailed', (request) => request.isNavigationRequest());
  const refused = failed.then((request) => {
    throw new Error(`a page did not load: ${request.failure()?.errorText}`);
  });
  return Promise.race([page.waitForResponse(isPage(page)), refused]);
}

/** The response of a page itself, past all redirects. */
function isPage(page: Page): (response: Response) => boolean {
  return (response) => {
    const isRedirect = response.status() >= 300 && response.status() < 400;
    return response.request().isNavigationRequest() && response.frame() === page.mainFrame() && !isRedirect;
  };
}

/** What the page asks for; undefined where it asks nothing. The pages are those of test/support/bent/pages.ts. */
async function actionOf(page: Page, person: Person): Promise<(() => Promise<void>) | undefined> {
  const name = page.locator('input[name=login]');
  if ((await name.count()) > 0) {
    return async () => {
      await name.fill(person.account ?? 'alice');
      await page.locator('form button').click();
    };
  }
  const answer = page.locator(`button[name=decision][value=${person.deny ? 'deny' : 'allow'}]`);
  return (await answer.count()) > 0 ? () => answer.click() : undefined;
}
