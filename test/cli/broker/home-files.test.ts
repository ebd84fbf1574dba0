/** The files of a home: ours go, whatever a crash left of them; others stay, and are named. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isHome, removeHomeFiles } from '../../../src/cli/broker/home-files.ts';
import { homePaths, type HomePaths } from '../../../src/base/paths.ts';

const identity = (brokerId: string): string =>
  JSON.stringify({ appId: 'a'.repeat(22), key: 'k'.repeat(43), brokerId });
const ours = identity('b'.repeat(22));

const state = [
  'document.json',
  'document.json.0123456789ab.new',
  'audit.jsonl',
  'audit-000012.jsonl',
  'broker.log',
  'broker.lock',
  'items/root',
  'items/s-AbC_1.0123456789ab.new',
];

function homeWith(files: Readonly<Record<string, string>> = {}): { paths: HomePaths; folder: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-files-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const paths = homePaths({ KEYTURN_HOME: folder });
  for (const where of [
    paths.state,
    paths.run,
    path.join(paths.config, 'apps'),
    path.join(paths.state, 'items'),
  ]) {
    mkdirSync(where, { recursive: true, mode: 0o700 });
  }
  const all = {
    ...Object.fromEntries(state.map((name) => [`state/${name}`, '{}'])),
    'config/settings.json': '{}',
    'config/settings.json.tmp-17a2b3': '{}',
    'config/owner.key': ours,
    'config/apps/editor.key': ours,
    'run/broker.path': '/somewhere',
    ...files,
  };
  for (const [name, text] of Object.entries(all)) {
    writeFileSync(path.join(folder, name), text, { mode: 0o600 });
  }
  return { paths, folder };
}

describe('the files of a home', () => {
  it('go with their folders, drafts and what Electron keeps, too', () => {
    const { paths } = homeWith();
    mkdirSync(path.join(paths.state, 'desktop', 'GPUCache'), { recursive: true });
    expect(isHome(paths)).toBe(true);
    expect(removeHomeFiles(paths, [])).toEqual([]);
    for (const folder of Object.values(paths)) expect(existsSync(folder), folder).toBe(false);
    expect(isHome(paths)).toBe(false);
    expect(removeHomeFiles(paths, [])).toEqual([]);
  });

  it('stay where they aren’t Keyturn’s, belong to another home, or are to be kept', () => {
    const { paths, folder } = homeWith({
      'state/notes.txt': 'mine',
      'config/apps/other.key': identity('c'.repeat(22)),
      'config/apps/broken.key': 'no key',
    });
    const kept = path.join(paths.state, 'document.json');
    const left = removeHomeFiles(paths, [kept]).map((file) => path.relative(folder, file));
    expect(left.toSorted()).toEqual([
      'config/apps/broken.key',
      'config/apps/other.key',
      'state/document.json',
      'state/notes.txt',
    ]);
  });

  it('are not looked for behind a symbolic link', () => {
    const { paths, folder } = homeWith({ 'target.json': 'precious' });
    const target = path.join(folder, 'target.json');
    rmSync(path.join(paths.state, 'audit.jsonl'));
    symlinkSync(target, path.join(paths.state, 'audit.jsonl'));
    const cache = path.join(paths.state, 'desktop', 'Cache');
    mkdirSync(cache, { recursive: true });
    symlinkSync(folder, path.join(cache, 'elsewhere'));
    expect(removeHomeFiles(paths, [])).toEqual([]);
    expect(readFileSync(target, 'utf8')).toBe('precious');
  });
});
