/** What another program of the same user does to a home while nobody looks: it edits the plain files. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { TestHome } from '../home.ts';

/** Puts these fields into config/settings.json. */
export function writeSettings(home: TestHome, fields: Readonly<Record<string, unknown>>): void {
  rewrite(path.join(home.paths.config, 'settings.json'), fields);
}

/** Puts these fields into state/home.json, and the id into owner.key too, so that commands still speak to the broker. */
export function writeHomeFile(
  home: TestHome,
  fields: { readonly homeId?: string; readonly hasRoot?: boolean },
): void {
  rewrite(path.join(home.paths.state, 'home.json'), fields);
  if (fields.homeId !== undefined) {
    rewrite(path.join(home.paths.config, 'owner.key'), { brokerId: fields.homeId });
  }
}

export function readHomeFile(home: TestHome): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(path.join(home.paths.state, 'home.json'), 'utf8')) as Record<
    string,
    unknown
  >;
}

function rewrite(file: string, fields: Readonly<Record<string, unknown>>): void {
  const before = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...before, ...fields }), { mode: 0o600 });
}
