/**
 * The keychain worker as a process: killed, hung, with wrong answers, orphaned. The worker is a stand-in only
 * for a hang or a wrong answer, because the real one can't be made to do either on demand.
 */
import type { Child } from '../../../src/base/system/child.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { forkWorker, KeychainProcess } from '../../../src/vault/keychain/keychain-process.ts';
import { keychainVault } from '../vaults.ts';
import { isAlive } from '../../support/home.ts';
import { freshService, removeFreshItems, requireTestKeyring } from './keyring.ts';

beforeAll(requireTestKeyring);
afterAll(removeFreshItems);

/** A stand-in that answers as told; undefined is silence. */
function standIn(answer: (request: { id: number }) => unknown): Child {
  const listeners: ((message: unknown) => void)[] = [];
  const exits: (() => void)[] = [];
  return {
    post(message) {
      const said = answer(message as { id: number });
      if (said !== undefined) queueMicrotask(() => listeners.forEach((listener) => listener(said)));
    },
    onMessage: (listener) => void listeners.push(listener),
    onExit: (listener) => void exits.push(listener),
    kill: () => queueMicrotask(() => exits.forEach((listener) => listener())),
  };
}

test('a worker killed during a call fails it, and the next call gets a new one', async () => {
  const started: Child[] = [];
  let isNextKilled = false;
  const spawnWorker = (): Child => {
    const worker = forkWorker();
    started.push(worker);
    const post = (message: unknown): void => {
      worker.post(message);
      if (isNextKilled) worker.kill();
      isNextKilled = false;
    };
    return { ...worker, post };
  };
  const vault = keychainVault({ service: freshService(), spawnWorker });
  await vault.set('grant', 'kept');
  isNextKilled = true;
  await expect(vault.set('grant', 'new')).rejects.toMatchObject({ reason: 'vault_unavailable' });
  expect(['kept', 'new']).toContain(await vault.get('grant'));
  expect(started).toHaveLength(2);
  await vault.close();
});

describe('with a stand-in for the worker', () => {
  test('a worker that is given up is killed before the next one starts', async () => {
    const ends: (() => void)[] = [];
    const started: number[] = [];
    const spawnWorker = (): Child => {
      started.push(ends.length);
      const isFirst = started.length === 1;
      const worker = standIn(({ id }) => (isFirst ? undefined : { id, ok: true, value: null }));
      return { ...worker, onExit: (listener) => void ends.push(listener), kill: () => undefined };
    };
    const process = new KeychainProcess(spawnWorker, 20);
    const request = { op: 'get', service: 'unused', account: 'x' } as const;
    await expect(process.ask(request)).rejects.toMatchObject({ kind: 'waiting' });
    await expect(process.ask(request)).rejects.toMatchObject({ kind: 'waiting' });
    expect(started).toHaveLength(1);
    for (const end of ends) end();
    expect(await process.ask(request)).toBe(null);
    expect(started).toHaveLength(2);
    process.close();
  });

  test('a missing keytar makes the keychain unavailable', async () => {
    const message = '"Cannot find package"';
    const worker = standIn(({ id }) => ({ id, ok: false, failure: 'module', message }));
    const vault = keychainVault({ service: 'unused', spawnWorker: () => worker });
    await expect(vault.root()).rejects.toMatchObject({
      reason: 'vault_unavailable',
      hint: expect.stringContaining('npm rebuild keytar'),
    });
    await vault.close();
  });
});

test('an error of the keychain does not repeat the value that was to be stored', async () => {
  const env = { ...process.env, DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent/bus' };
  const worker = new KeychainProcess(() => forkWorker(env), 10_000);
  const secret = 'c2VjcmV0LXRva2Vu';
  const request = { op: 'set', service: freshService(), account: 'x', value: secret } as const;
  const error: unknown = await worker.ask(request).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ reason: 'vault_unavailable' });
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(secret);
  worker.close();
});

test('an idle worker keeps no program alive, and ends with its program', async () => {
  const keychain = new URL('../../../src/vault/keychain/keychain.ts', import.meta.url).href;
  const program = `
    import { readFileSync } from 'node:fs';
    const { keychainStore } = await import(${JSON.stringify(keychain)});
    await keychainStore({ service: ${JSON.stringify(freshService())} }).prove();
    console.log(readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8'));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect(code).toBe(0);
  const worker = Number(output.trim());
  expect(worker).toBeGreaterThan(1);
  // A zombie counts as ended: it stays if no init process collects it.
  await expect.poll(() => isAlive(worker)).toBe(false);
});
