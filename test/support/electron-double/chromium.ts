/** One Chromium for the windows of a test file, without a network: every name resolves to nowhere. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
import { afterAll } from 'vitest';

let opening: Promise<{ context: BrowserContext; folder: string }> | undefined;

export async function chromiumContext(): Promise<BrowserContext> {
  opening ??= launch();
  return (await opening).context;
}

async function launch(): Promise<{ context: BrowserContext; folder: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'keyturn-windows-'));
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: process.env['KEYTURN_TEST_CHROMIUM'] ?? '/usr/bin/chromium',
    headless: true,
    // Root can't use Chromium's sandbox; every page here is one of the test's own.
    chromiumSandbox: false,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, TMPDIR: folder },
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--host-resolver-rules=MAP * ~NOTFOUND',
    ],
  });
  return { context, folder };
}

afterAll(async () => {
  const opened = await opening;
  await opened?.context.close();
  if (opened) await rm(opened.folder, { recursive: true, force: true, maxRetries: 5 });
});
