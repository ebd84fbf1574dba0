/** A broker killed at each step of each kind of change: the next one has it whole or not at all, and what was answered. */
import { chmodSync, cpSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, expect, it } from 'vitest';
import { disk, steps, watchDisk } from '../support/failing-disk.ts';
import { startOn, type AuthorityBroker } from '../support/homes/authority-home.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { memoryKeychain } from '../vault/doubles.ts';
import { vaultOver } from '../vault/vaults.ts';

afterAll(watchDisk());
afterEach(() => void (disk.before = undefined));

const [server, other] = ['https://notes.example/mcp', 'https://mail.example/mcp'];
const proxy = { id: 'p', name: 'p', endpoint: server, port: 2000, path: 'p'.repeat(32), createdAt: 0 };

type Act = (broker: AuthorityBroker, program: string) => Promise<unknown>;

const decide =
  (decision: 'allow' | 'deny'): Act =>
  ({ permissions }, appId) =>
    permissions.set({ appId, endpoint: other, decision, createdAt: 0 });

const changes: Record<string, Act> = {
  allow: decide('allow'),
  deny: decide('deny'),
  end: ({ permissions }, program) => permissions.end(program, server),
  unpair: ({ apps }, program) => apps.remove(program),
  pair: ({ apps }) => apps.add('agent', 0),
  exception: ({ exceptions }) => exceptions.set(server, 'audience', true),
  proxy: ({ records }) => records.proxies.change(() => [proxy]),
  setting: ({ records }) => records.home.change(() => [{ approvals: 'app' }]),
  pause: ({ records }) => records.access.change(() => [{ pause: { since: 0, until: 2 } }]),
  resume: ({ records }) => records.access.change(() => [{}]),
};

/** Where it is killed, in order; what is there from `sync folder` on is the new document. */
const kills = ['read newest', ...steps, 'set newest', 'newest is set', 'answered'];

function stateOf({ records }: AuthorityBroker): object {
  return Object.fromEntries([...records.document.state].filter(([, items]) => items.length > 0));
}

/** What a kill leaves of a home, by the step that was next. */
async function rig() {
  const [folder, keychain] = [temporaryFolder(), memoryKeychain()];
  const left = new Map<string, () => Promise<AuthorityBroker>>();
  const keep = (step: string): void => {
    if (left.has(step)) return;
    const [copy, rest] = [temporaryFolder(), memoryKeychain()];
    cpSync(folder, copy, { recursive: true });
    for (const name of ['config', 'state']) chmodSync(path.join(copy, name), 0o700);
    for (const [name, item] of keychain.items) rest.items.set(name, item);
    left.set(step, () => startOn(copy, vaultOver(rest)));
  };
  const watched = vaultOver({
    ...keychain,
    async get(name) {
      if (name === 'newest' && disk.before) keep('read newest');
      return keychain.get(name);
    },
    async replace(...given) {
      if (disk.before) keep('set newest');
      const shown = await keychain.replace(...given);
      if (disk.before) keep('newest is set');
      return shown;
    },
  });
  return { broker: await startOn(folder, watched), left, keep };
}

it.each(Object.entries(changes))('%s', async (name, change) => {
  const { broker, left, keep } = await rig();
  const { id } = await broker.apps.add('editor', 0);
  await broker.permissions.set({ appId: id, endpoint: server, decision: 'allow', createdAt: 0 });
  if (name === 'resume') await broker.records.access.change(() => [{ pause: { since: 0, until: 1 } }]);
  const before = stateOf(broker);
  disk.before = keep;
  await change(broker, id);
  keep('answered');
  disk.before = undefined;
  const after = stateOf(broker);
  expect(after).not.toEqual(before);
  expect([...left.keys()]).toEqual(kills);
  for (const [step, start] of left) {
    const next = await start();
    const isNew = kills.indexOf(step) >= kills.indexOf('sync folder');
    expect(stateOf(next), step).toEqual(isNew ? after : before);
    await next.exceptions.set(other, 'audience', true);
    expect((await start()).troubles(), step).toEqual([]);
  }
});
