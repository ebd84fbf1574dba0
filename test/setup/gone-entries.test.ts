/** Entries of clients that start a Keyturn: this one, another one, one that is gone. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { findingsIn } from '../../src/setup/plan.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { endpoint, entered, fileOf, own, read } from './cursor.ts';

const ownEntry = (behind: readonly string[]): string =>
  entered({ command: own.words[0], args: [own.words[1], ...behind] });

const behind = ['bridge', endpoint, '--as', 'mine', '--account=work', '--header', 'X-Team: blue'];
it.each([
  ['/gone/v22.1.0/bin/node', ['/lib/keyturn/dist/cli/bin.js', ...behind]],
  [process.execPath, ['/gone/lib/node_modules/keyturn/dist/cli/bin.js', ...behind]],
  ['/gone/keyturn-0.1.0-linux-x64', behind],
  ['keyturn', behind],
])('lets an entry whose program is gone start this Keyturn, under the same name: %s', (command, args) => {
  const { findings, after } = read('cursor', entered({ command, args }));
  expect(findings).toMatchObject([{ kind: 'switch', as: 'mine', account: 'work' }]);
  expect([command, ...args]).toContain(findings[0]?.gone);
  const written = { command: '/bin/node', args: ['/lib/keyturn.js', ...behind] };
  expect(JSON.parse(after)).toEqual({ mcpServers: { notes: written } });
});

it('shows all of an entry whose program is gone, also lines that stay', () => {
  const args = [own.words[1], ...behind.slice(0, -1), 'X-Team: ${AWS_SECRET_ACCESS_KEY}'];
  const line = JSON.stringify(args).replaceAll('","', '", "');
  const { findings } = read(
    'cursor',
    `{"mcpServers": {"notes": {\n"command": "/gone/node",\n"args": ${line}\n}}}`,
  );
  expect(findings).toMatchObject([{ shown: expect.arrayContaining([`+ "args": ${line}`]) }]);
});

it('reads an account that is a word of its own', () => {
  const args = ['bridge', endpoint, '--as', 'mine', '--account', 'work'];
  const { findings, after } = read('cursor', entered({ command: '/gone/keyturn', args }));
  expect(findings).toMatchObject([{ kind: 'switch', account: 'work' }]);
  expect(read('cursor', after).findings).toMatchObject([{ kind: 'bridge', account: 'work' }]);
  expect(read('cursor', ownEntry(args)).findings).toMatchObject([{ account: 'work' }]);
});

it('names the other Keyturn that an entry starts, and leaves the entry', () => {
  const other = path.join(temporaryFolder(), 'keyturn');
  writeFileSync(other, '', { mode: 0o755 });
  const { findings } = read('cursor', entered({ command: other, args: behind }));
  expect(findings).toMatchObject([{ kind: 'bridge', other }]);
});

it.each([
  ['a file as header', { args: [...behind, '--header-file', '/home/ada/.ssh/id'] }],
  ['another home', { args: behind, env: { KEYTURN_HOME: '/evil' } }],
  ['another folder', { args: behind, cwd: '/evil' }],
  ['a secret in its URL', { args: ['bridge', `${endpoint}?api_key=x`] }],
])('leaves an entry whose program is gone as it is with %s', (_what, more) => {
  const text = entered({ command: '/gone/keyturn', ...more });
  const { findings, after } = read('cursor', text);
  expect(findings).toMatchObject([{ kind: 'left', gone: '/gone/keyturn' }]);
  expect(after).toBe(text);
});

it.each([
  ['fragment', `${endpoint}#`, 'mine'],
  ['long URL', `${endpoint}/${'x'.repeat(2048)}`, 'mine'],
  ['URL that is long once it is encoded', `${endpoint}?q=${'é'.repeat(1000)}`, 'mine'],
  ['name', endpoint, '../mine'],
])('takes no server and no name from an entry with an odd %s', (_what, url, as) => {
  const { findings } = read('cursor', ownEntry(['bridge', url, '--as', as]));
  expect(findings).toEqual([{ entry: 'notes', keyPath: ['mcpServers', 'notes'], kind: 'bridge' }]);
});

it('reads no file with an entry that nests deeper than the stack', () => {
  const nested = (depth: number): string =>
    `{"mcpServers": {"notes": {"url": "${endpoint}", "x": ${'['.repeat(depth)}"a"${']'.repeat(depth)}}}}`;
  // Each step has its own depth at which the stack is full.
  const found = Array.from({ length: 50 }, (_, step) =>
    findingsIn(fileOf('cursor'), nested(200 * step), own),
  );
  expect(found.at(-1)).toBe('Keyturn can’t read it');
});
