/** Folders that last as long as one test, or as long as somebody else says. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

/** Takes what ends something: `afterAll` at the top of a file, for one. */
export type AtEnd = (end: () => void | Promise<void>) => unknown;

/** A new folder that is removed at the end. Its name is short: socket paths are bounded. */
export function temporaryFolder(atEnd: AtEnd = onTestFinished): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'kt-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
