/** Keyturn is updated or moved while it runs: what runs lost its files. */
import { spawnSync } from 'node:child_process';
import { cpSync, renameSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { builtBin } from '../../support/built.ts';
import { newHome } from '../../support/home.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

it('a broker and a bridge whose files are gone say so', async () => {
  const folder = temporaryFolder();
  const root = path.resolve(builtBin, '../../..');
  for (const name of ['dist', 'package.json'])
    cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  const home = newHome({ bin: path.join(folder, 'dist/cli/bin.js') });
  const now = (...args: string[]): string =>
    spawnSync(process.execPath, [builtBin, ...args], { env: home.env, encoding: 'utf8' }).stderr;
  const url = 'https://127.0.0.1:9/mcp';
  const bridge = home.start(['bridge', url, '--as', 'x'], { stdinStaysOpen: true });
  bridge.types('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  await bridge.says('waits for your answer');
  renameSync(path.join(folder, 'dist'), path.join(folder, 'gone'));
  expect(now('login', url)).toContain('Run: keyturn broker restart');
  now('broker', 'restart');
  expect(now('login', url)).not.toContain('keyturn broker restart');
  now('broker', 'stop');
  await bridge.says('restart what runs it');
});
