/** Which entries a window may connect. What the panel shows of them is in test/renderer/connect-clients.test.ts. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ClientSetup } from '../../electron/windows/client-setup.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

it('changes only entries of the newest look, and takes each look once', async () => {
  const home = temporaryFolder();
  mkdirSync(path.join(home, '.cursor'));
  const file = path.join(home, '.cursor', 'mcp.json');
  const before = JSON.stringify({ mcpServers: { notes: { url: 'https://notes.example/mcp' } } });
  writeFileSync(file, before);
  const unreachable = () => Promise.reject(new Error('nothing is asked here'));
  const setup = new ClientSetup({
    env: { HOME: home, PATH: '' },
    brought: process.execPath,
    stateFolder: home,
    owner: { call: unreachable },
    network: unreachable,
  });
  const first = await setup.look();
  const { look } = await setup.look();
  const entries = first.clients.flatMap((client) => client.entries.map(({ id }) => id));
  expect(entries).toHaveLength(1);
  const refused = expect.objectContaining({ reason: 'invalid_request' });
  await expect(setup.apply({ look: first.look, entries })).rejects.toEqual(refused);
  expect(await setup.apply({ look, entries })).toEqual({ results: [] });
  await expect(setup.apply({ look, entries: [] })).rejects.toEqual(refused);
  expect(readFileSync(file, 'utf8')).toBe(before);
});
