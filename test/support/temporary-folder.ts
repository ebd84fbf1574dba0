/** Folders that last as long as one test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

/** A new folder that is removed when the test ends. Its name is short: socket paths are bounded. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'kt-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
