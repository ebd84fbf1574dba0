/** docs/guides/examples/stock-client.md: a client that nobody here wrote, from its own configuration and back to it. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { homeInWorld } from '../../support/home.ts';
import { ForeignClients } from '../../support/processes/foreign-client.ts';
import { keyturnInTerminal } from '../../support/processes/terminal.ts';
import { told } from '../../support/secrets.ts';
import { Walk } from './walk.ts';

it('a stock client is switched over, narrowed, paused, revoked and restored', async () => {
  const { home, world, resource } = await homeInWorld({ vault: 'keychain' });
  const user = home.env['HOME'] ?? '';
  const file = path.join(user, '.cursor', 'mcp.json');
  const before = `{\n  // mine\n  "mcpServers": { "notes": { "url": "${resource}" } }\n}\n`;
  // Of a second client: setup asks once for all entries of a server.
  const second = path.join(user, '.kiro', 'settings', 'mcp.json');
  for (const each of [file, second]) {
    mkdirSync(path.dirname(each), { recursive: true });
    writeFileSync(each, before);
  }
  onTestFinished(() =>
    ['.cursor', '.kiro'].forEach((name) => rmSync(path.join(user, name), { recursive: true })),
  );
  const clients = new ForeignClients(home, resource);
  onTestFinished(() => clients.close());
  const call = async (tool: string, ...words: string[]): Promise<string> =>
    clients.run('mcporter', '--config', file, 'call', `notes.${tool}`, ...words);
  const walk = new Walk('stock-client', home, { 'https://notes.example/mcp': resource });

  const connecting = walk.inTerminal();
  await connecting.shows(/cursor-notes[^]*Change these files\? \[y\/N\] /);
  expect(readFileSync(file, 'utf8')).toBe(before);
  connecting.type('y\n');
  await connecting.shows(/may "cursor-notes", "kiro-notes" be paired, and reach [^]*\[y\/N\] /);
  connecting.type('y\n');
  await connecting.shows(/restart these clients\./);
  await connecting.ended;
  expect(readFileSync(file, 'utf8')).not.toContain('"url"');
  // It has its access, and setup has written it already.
  const words = ['connect', resource, '--as', 'cursor-notes'];
  const again = keyturnInTerminal(home, ...words);
  await again.shows(/the entry "cursor-notes" stands in [^]*mcp\.json already/);
  expect(again.shown()).not.toContain('mcpServers');
  await again.ended;
  expect(await call('list-notes')).toContain('alice');
  expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, registrations: 1 });

  await walk.run();
  expect(await call('list-notes')).toContain('alice');
  const writing = expect(call('add-note', 'note=milk')).rejects.toThrow('allow cursor-notes');
  expect(await walk.answer('allow')).toMatchObject({ app: 'cursor-notes' });
  await writing;

  await walk.run();
  await expect(call('list-notes')).rejects.toThrow('You paused all access');
  await walk.run();
  expect(await call('list-notes')).toContain('alice');

  expect(await walk.run()).toContain('confirmed');
  await expect(call('list-notes')).rejects.toThrow(`keyturn login ${resource}`);

  expect(await walk.run()).toContain('as it was, byte for byte');
  await walk.run();
  expect(readFileSync(file, 'utf8')).toBe(before);
  expect(existsSync(home.paths.state)).toBe(false);
  expect(told(clients.found().findings)).toBe('');
});
