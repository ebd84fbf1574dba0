/**
 * Writes the activity to a file that the person names in a dialog.
 *
 * Invariant: the window never names a path; the file is the person's alone (0600).
 */
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { app, dialog } from 'electron';
import type { BrowserWindow } from 'electron';
import { exportTrail } from '../src/daemon/audit-trail.ts';
import { KeyturnError } from '../src/errors.ts';
import type { HomePaths } from '../src/paths.ts';
import { words } from './words.ts';

/** `rows` is absent where the person cancelled. Throws `file_unreadable`. */
export async function exportByDialog(
  paths: HomePaths,
  window: BrowserWindow,
  format: 'jsonl' | 'csv',
): Promise<{ readonly rows?: number }> {
  const { canceled, filePath } = await dialog.showSaveDialog(window, {
    title: words.exportTitle,
    defaultPath: path.join(app.getPath('documents'), `keyturn-activity.${format}`),
  });
  if (canceled || filePath === '') return {};
  return { rows: await writeTrail(paths, filePath, format) };
}

async function writeTrail(paths: HomePaths, file: string, format: 'jsonl' | 'csv'): Promise<number> {
  const stream = createWriteStream(file, { mode: 0o600 });
  try {
    await once(stream, 'open');
  } catch {
    throw new KeyturnError('file_unreadable', 'The file you chose can’t be written.', {
      hint: 'Choose another folder.',
    });
  }
  const rows = await exportTrail(
    paths,
    async (text) => {
      if (!stream.write(text)) await once(stream, 'drain');
    },
    format,
  );
  stream.end();
  await finished(stream);
  return rows;
}
