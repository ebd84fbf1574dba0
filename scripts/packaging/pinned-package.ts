/**
 * A package of npm for another system, which `npm ci` leaves out here.
 *
 * Invariant: what is unpacked has the version and the hash of package-lock.json.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './program.ts';

/** Fetches it with npm, and answers the folder below `work` in which its files are. Needs the network, or npm's cache. */
export function fetchPinned(name: string, work: string): string {
  const lock = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { readonly version: string; readonly integrity?: string }>;
  };
  const pinned = lock.packages[`node_modules/${name}`];
  if (!pinned?.integrity) throw new Error(`package-lock.json has no hash of ${name}.`);
  const folder = path.join(work, name.replaceAll('/', '-'));
  mkdirSync(folder, { recursive: true });
  const words = ['pack', `${name}@${pinned.version}`, '--prefer-offline', '--loglevel=error'];
  const printed = execFileSync('npm', [...words, '--pack-destination', folder], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const archive = path.join(folder, printed.trim());
  const hash = createHash('sha512').update(readFileSync(archive)).digest('base64');
  if (`sha512-${hash}` !== pinned.integrity)
    throw new Error(`${name} ${pinned.version} isn't what package-lock.json names: its hash is another one.`);
  execFileSync('tar', ['-xzf', archive, '-C', folder]);
  return path.join(folder, 'package');
}
