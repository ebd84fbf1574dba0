/** A broker killed at each step of each kind of change: the next one has it whole or not at all, and what was answered. */
import { chmodSync, cpSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { AuthorityBroker } from '../support/homes/authority-home.ts';
import { change, changes, killed, kills, opened, other, server } from '../support/processes/killed-change.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

function copyOf(folder: string): string {
  const copy = temporaryFolder();
  cpSync(folder, copy, { recursive: true });
  for (const name of ['config', 'state']) chmodSync(path.join(copy, name), 0o700);
  return copy;
}

/** The ids of what is new are random. */
function stateOf({ records }: AuthorityBroker): unknown {
  const lists = [...records.document.state].filter(([, items]) => items.length > 0);
  return JSON.parse(JSON.stringify(Object.fromEntries(lists)).replaceAll(/"id":"[^"]+"/g, '"id":""'));
}

it.each(Object.keys(changes))('%s', async (name) => {
  const folder = temporaryFolder();
  const broker = await opened(folder);
  const { id } = await broker.apps.add('editor', 0);
  await broker.permissions.set({ appId: id, endpoint: server, decision: 'allow', createdAt: 0 });
  if (name === 'resume') await broker.records.access.change(() => [{ pause: { since: 0, until: 1 } }]);
  const before = stateOf(broker);
  const changed = await opened(copyOf(folder));
  await change(changed, name);
  const after = stateOf(changed);
  expect(after).not.toEqual(before);
  await Promise.all(
    kills.map(async (step, at) => {
      const copy = copyOf(folder);
      expect(await killed(copy, name, step)).toBe('SIGKILL');
      const next = await opened(copy);
      expect(stateOf(next), step).toEqual(at < kills.indexOf('sync folder') ? before : after);
      await next.exceptions.set(other, 'audience', true);
      expect((await opened(copy)).troubles(), step).toEqual([]);
    }),
  );
});
