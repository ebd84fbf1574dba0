/** What another program of the same user does to a home while nobody looks: it edits the plain files. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { TestHome } from '../home.ts';

/** Puts these fields into config/settings.json. */
export function writeSettings(home: TestHome, fields: Readonly<Record<string, unknown>>): void {
  rewrite(path.join(home.paths.config, 'settings.json'), fields);
}

/** Puts another id into config/owner.key. */
export function writeHomeId(home: TestHome, brokerId: string): void {
  rewrite(path.join(home.paths.config, 'owner.key'), { brokerId });
}

function rewrite(file: string, fields: Readonly<Record<string, unknown>>): void {
  const before = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...before, ...fields }), { mode: 0o600 });
}
