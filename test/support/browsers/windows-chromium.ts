/** One Chromium for the windows of a test file, without a network: every name resolves to nowhere. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BrowserContext } from 'playwright-core';
import { launchChromium, removeProfile } from '../../browsers/browser.ts';

let opening: Promise<{ context: BrowserContext; folder: string }> | undefined;

export async function chromiumContext(): Promise<BrowserContext> {
  opening ??= launch();
  return (await opening).context;
}

async function launch(): Promise<{ context: BrowserContext; folder: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'keyturn-windows-'));
  const context = await launchChromium(folder, ['--host-resolver-rules=MAP * ~NOTFOUND']);
  return { context, folder };
}

/** Runs after each test file: the next one starts its own, if it shows windows. */
export async function endChromium(): Promise<void> {
  const opened = await opening;
  opening = undefined;
  await opened?.context.close();
  if (opened) await removeProfile(opened.folder);
}
