/**
 * What the files of a home, apart from home.json, show of its past.
 *
 * Invariant: reads only, and judges no content: a file with a MAC was written under a master secret.
 */
import path from 'node:path';
import { z } from 'zod';
import { authorityFiles } from '../../store/record-formats.ts';
import { readPrivate } from '../../base/private-file.ts';

const provenSchema = z.object({ mac: z.string() });

/** The first file of authority with a MAC; undefined where none has one. Throws `file_unreadable`. */
export async function provenFile(stateFolder: string): Promise<string | undefined> {
  for (const name of authorityFiles) {
    const file = path.join(stateFolder, `${name}.json`);
    if (hasProof(await readPrivate(file))) return file;
  }
  return undefined;
}

/** A file that is no JSON shows nothing; its own reader reports it. */
function hasProof(bytes: Buffer | undefined): boolean {
  if (!bytes) return false;
  try {
    return provenSchema.safeParse(JSON.parse(bytes.toString('utf8'))).success;
  } catch {
    return false;
  }
}
