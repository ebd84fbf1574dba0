/**
 * Writes the activity to a file that the user names in a dialog.
 *
 * Invariant: the window never names a path; only the user may read the file (0600).
 */
import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { app, dialog, type BrowserWindow } from 'electron';
import { exportAudit } from '../../src/audit/audit-export.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import type { HomePaths } from '../../src/base/paths.ts';
import { words } from '../base/words.ts';

type ExportResult = Awaited<ReturnType<typeof exportAudit>>;

/** Empty if you cancelled. Throws `file_unreadable`. */
export async function exportByDialog(
  paths: HomePaths,
  window: BrowserWindow,
  format: 'jsonl' | 'csv',
): Promise<Partial<ExportResult>> {
  const { canceled, filePath } = await dialog.showSaveDialog(window, {
    title: words().exportTitle,
    defaultPath: path.join(app.getPath('documents'), `keyturn-activity.${format}`),
  });
  if (canceled || filePath === '') return {};
  return writeTrail(paths, filePath, format);
}

/** Into a file beside it, which takes its place once it is whole: another's mode and a full disk spoil nothing. */
async function writeTrail(paths: HomePaths, file: string, format: 'jsonl' | 'csv'): Promise<ExportResult> {
  const draft = `${file}.${randomBytes(4).toString('hex')}.part`;
  try {
    const written = await writeDraft(paths, draft, format);
    await rename(draft, file);
    return written;
  } catch (error) {
    await rm(draft, { force: true });
    if (error instanceof KeyturnError) throw error;
    throw new KeyturnError('file_unreadable', 'The file you chose can’t be written.', {
      hint: 'Choose another folder, or look whether the disk is full.',
    });
  }
}

async function writeDraft(paths: HomePaths, draft: string, format: 'jsonl' | 'csv'): Promise<ExportResult> {
  const handle = await open(draft, 'wx', 0o600);
  try {
    return await exportAudit(paths.state, (text) => handle.writeFile(text), format);
  } finally {
    await handle.close();
  }
}
