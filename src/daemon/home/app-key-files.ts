/**
 * Removes the key files of unpaired apps.
 *
 * Invariant: a file is removed only if it contains a key of this home and app, which no longer works. A file that
 * can't be read, belongs to another home or is a symbolic link stays.
 */
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { HomePaths } from '../../base/paths.ts';
import { readPrivate } from '../../base/private/private-file.ts';

const keySchema = z.object({ appId: z.string(), brokerId: z.string() });

/** Without it the next pairing under this name would be a `conflict`. Never fails: the app is unpaired. */
export async function removeAppKeyFiles(
  { config }: Pick<HomePaths, 'config'>,
  removed: z.output<typeof keySchema>,
): Promise<void> {
  const folder = path.join(config, 'apps');
  for (const name of await readdir(folder).catch(() => [])) {
    const file = path.join(folder, name);
    const key = name.endsWith('.key') ? await keyIn(file) : undefined;
    if (key?.appId !== removed.appId || key.brokerId !== removed.brokerId) continue;
    await rm(file).catch(() => undefined);
  }
}

async function keyIn(file: string): Promise<z.output<typeof keySchema> | undefined> {
  try {
    const bytes = await readPrivate(file);
    return keySchema.safeParse(JSON.parse(bytes?.toString('utf8') ?? 'null')).data;
  } catch {
    return undefined;
  }
}
