/**
 * The floor (floor.ts) as a file of plain JavaScript. If Node strips the types itself, its compiler stays in the process:
 * that costs 20 MB, and would flatter what stands beside the floor.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';

/** Writes it into `folder`; answers its path. */
export function floorProgram(folder: string): string {
  const file = path.join(folder, 'floor.mjs');
  const source = readFileSync(path.join(import.meta.dirname, 'floor.ts'), 'utf8');
  writeFileSync(file, stripTypeScriptTypes(source));
  return file;
}
