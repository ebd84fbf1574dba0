/** One Chromium for the windows of a process, without a network. A test closes its pages. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BrowserContext } from 'playwright';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { launchChromium, removeProfile } from './browser.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the browsers of this run. */
    windowProfiles: string;
  }
}

let opening: Promise<BrowserContext> | undefined;

export function windowsChromium(): Promise<BrowserContext> {
  opening ??= launchChromium(mkdtempSync(path.join(inject('windowProfiles'), 'browser-')), [
    '--host-resolver-rules=MAP * ~NOTFOUND',
  ]);
  return opening;
}

/** Runs before the first test of a project, and what it returns after the last one. */
export default function makeProfiles(project: TestProject): () => Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-windows-'));
  project.provide('windowProfiles', folder);
  return async () => {
    for (const name of readdirSync(folder)) await removeProfile(path.join(folder, name));
    rmSync(folder, { recursive: true });
  };
}
