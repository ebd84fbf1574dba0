/** Changes a document once, and is killed (SIGKILL) at one step. Arguments: folder, name of the change, step. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ItemStore } from '../../../src/vault/base/item-store.ts';
import { ItemVault } from '../../../src/vault/item-vault.ts';
import { fresh, memoryKeychain } from '../../vault/doubles.ts';
import { disk, watchDisk } from '../failing-disk.ts';
import { type AuthorityBroker, startOn } from '../homes/authority-home.ts';

export const [server, other] = ['https://notes.example/mcp', 'https://mail.example/mcp'];
const proxy = { id: 'p', name: 'p', endpoint: server, port: 2000, path: 'p'.repeat(32), createdAt: 0 };

type Act = (broker: AuthorityBroker, program: string) => Promise<unknown>;

const decide =
  (decision: 'allow' | 'deny'): Act =>
  ({ permissions }, appId) =>
    permissions.set({ appId, endpoint: other, decision, createdAt: 0 });

export const changes: Readonly<Record<string, Act>> = {
  allow: decide('allow'),
  deny: decide('deny'),
  end: ({ permissions }, program) => permissions.revoke(program, server),
  unpair: ({ apps }, program) => apps.remove(program),
  pair: ({ apps }) => apps.add('agent', 0),
  exception: ({ exceptions }) => exceptions.set(server, 'audience', true),
  proxy: ({ records }) => records.proxies.change(() => [proxy]),
  setting: ({ records }) => records.home.change(() => [{ approver: 'app' }]),
  pause: ({ records }) => records.access.change(() => [{ pause: { since: 0, until: 2 } }]),
  resume: ({ records }) => records.access.change(() => [{}]),
};

/** Where it is killed, in order; what is there from `sync folder` on is the new document. */
export const kills = ['read newest', 'rename', 'sync folder', 'set newest', 'newest is set', 'answered'];

/** The change `name` by whoever runs on this home now. */
export async function change(broker: AuthorityBroker, name: string): Promise<void> {
  await changes[name]?.(broker, broker.records.apps.items[0]?.id ?? '');
}

/** A keychain whose items are in a file, for one process after another. */
export function keychainOf(folder: string): ItemStore {
  const file = path.join(folder, 'keychain.json');
  const keychain = memoryKeychain();
  const items = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as [string, string][]) : [];
  for (const [name, value] of items) keychain.items.set(name, value);
  const kept = async <T>(work: Promise<T>): Promise<T> => {
    const shown = await work;
    writeFileSync(file, JSON.stringify([...keychain.items]));
    return shown;
  };
  return {
    ...keychain,
    set: (...given) => kept(keychain.set(...given)),
    replace: (...given) => kept(keychain.replace(...given)),
    createRoot: (root) => kept(keychain.createRoot(root)),
  };
}

export const opened = (folder: string, keychain = keychainOf(folder)): Promise<AuthorityBroker> =>
  startOn(folder, new ItemVault({ kind: 'keychain', store: keychain, ...fresh }));

/** Resolves to the signal that ended it. */
export function killed(folder: string, name: string, at: string): Promise<unknown> {
  const child = spawn(process.execPath, [import.meta.filename, folder, name, at], { stdio: 'inherit' });
  return new Promise((resolve) => {
    child.on('close', (_, by) => resolve(by));
  });
}

async function beKilled(folder: string, name: string, at: string): Promise<void> {
  const die = (step: string): void => {
    if (step === at && disk.before) process.kill(process.pid, 'SIGKILL');
  };
  const keychain = keychainOf(folder);
  const broker = await opened(folder, {
    ...keychain,
    async get(item) {
      if (item === 'newest') die('read newest');
      return keychain.get(item);
    },
    async replace(...given) {
      die('set newest');
      const shown = await keychain.replace(...given);
      die('newest is set');
      return shown;
    },
  });
  watchDisk();
  disk.before = die;
  await change(broker, name);
  die('answered');
}

const [, script, ...given] = process.argv;
const [folder, name, at] = given;
if (script === import.meta.filename && folder && name && at) await beKilled(folder, name, at);
