/** What a command loads: scripts wait for the cold start of `keyturn token`. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';

const source = path.join(import.meta.dirname, '..', '..', 'src');

/** Notes each module that Node loads, and prints them when the process ends. */
const watcher = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
  process.on('exit', () => process.stderr.write('loaded: ' + loaded.join(' ')));
`)}`;

/** Files of src/, and names of packages. */
function loadedBy(...args: string[]): string[] {
  const bin = path.join(source, 'cli', 'bin.ts');
  const { stderr } = spawnSync(process.execPath, ['--import', watcher, bin, ...args], { encoding: 'utf8' });
  const [, list = ''] = stderr.split('loaded: ');
  return list
    .split(' ')
    .filter((url) => url.startsWith('file:'))
    .map((url) => path.relative(source, new URL(url).pathname));
}

it('keyturn token loads no other command, no help and no package', () => {
  const loaded = loadedBy('token', 'no-url');
  expect(loaded.filter((file) => file.startsWith('cli/commands/'))).toEqual(['cli/commands/token.ts']);
  expect(loaded).not.toContain('cli/terminal/help.ts');
  expect(loaded).not.toContain('ipc/protocol/methods.ts');
  expect(loaded.filter((file) => file.includes('node_modules'))).toEqual([]);
});
