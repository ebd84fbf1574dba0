/** The guard: what it admits and refuses, what a lock waits for, and when its listener is called. */
import { describe, expect, test } from 'vitest';
import { VaultGuard } from '../../src/vault/guard.ts';
import { memoryStore, memoryVault } from '../../src/vault/memory.ts';
import { MissingItem, VaultError } from '../../src/vault/base/trouble.ts';
import { getIfAny, type Vault } from '../../src/vault/base/vault.ts';
import { VaultWatch } from '../../src/vault/base/watch.ts';
import { vaultContract } from './contract.ts';

function guarded(vault: Vault = memoryVault()): { guard: VaultGuard; watch: VaultWatch } {
  const watch = new VaultWatch(() => 0);
  return { guard: new VaultGuard(vault, watch), watch };
}

vaultContract('memory', () => guarded().guard);

const calls: [string, (vault: Vault) => Promise<unknown>][] = [
  ['get', (vault) => vault.get('a')],
  ['set', (vault) => vault.set('a', 'x')],
  ['replace', (vault) => vault.replace('a', undefined, 'x')],
  ['delete', (vault) => vault.delete('a')],
  ['root', (vault) => vault.root()],
];

describe('a guard that is shut', () => {
  test.each(calls)('a shut guard refuses %s as locked, without a call to the vault', async (_, call) => {
    let asked = 0;
    const counting = new Proxy(memoryVault(), {
      get: (vault, name) => {
        if (name !== 'kind') asked += 1;
        const value: unknown = Reflect.get(vault, name);
        return typeof value === 'function' ? value.bind(vault) : value;
      },
    });
    const { guard, watch } = guarded(counting);
    await guard.shut();
    await expect(call(guard)).rejects.toMatchObject({
      reason: 'locked',
      hint: 'Unlock it with: keyturn unlock',
    });
    expect(asked).toBe(0);
    expect(watch.state).toMatchObject({ state: 'locked', what: 'the vault is locked' });
  });

  test('a guard shuts once the calls that it had admitted have ended', async () => {
    const store = memoryStore();
    const held = Promise.withResolvers<void>();
    const { guard } = guarded(
      memoryVault({
        ...store,
        get: async (name) => {
          await held.promise;
          return store.get(name);
        },
      }),
    );
    const found = getIfAny(guard, 'a');
    let isShut = false;
    const shut = guard.shut().then(() => (isShut = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isShut).toBe(false);
    held.resolve();
    await shut;
    expect(await found).toBeUndefined();
  });

  test('forgets the root key, and still lets calls for `newest` through', async () => {
    const vault = memoryVault();
    const { guard } = guarded(vault);
    const root = await guard.root();
    await guard.set('newest', 'document 1');
    await guard.shut();
    vault.lock();
    await expect(guard.root()).rejects.toMatchObject({ reason: 'locked' });
    expect(await guard.replace('newest', 'document 1', 'document 2')).toBe('document 2');
    await vault.unlock();
    guard.open();
    expect((await guard.root()).equals(root)).toBe(true);
    expect(await guard.get('newest')).toBe('document 2');
  });
});

test('while a user is asked to unlock the vault, other calls fail at once', async () => {
  const { guard, watch } = guarded();
  const putBack = guard.hold();
  await expect(getIfAny(guard, 'a')).rejects.toMatchObject({ reason: 'locked', kind: 'waiting' });
  expect(watch.state.state).toBe('waiting');
  putBack();
  expect(await getIfAny(guard, 'a')).toBeUndefined();
  expect(watch.state.state).toBe('open');
});

/** A guard, how its vault answers from now on, and the calls of its listener. */
function heard(): { guard: VaultGuard; answers: { trouble?: VaultError }; said: string[] } {
  const answers: { trouble?: VaultError } = {};
  const said: string[] = [];
  const get = async (name: string): Promise<string> => {
    throw answers.trouble ?? new MissingItem(name);
  };
  const vault: Vault = Object.assign(memoryVault(), { get });
  const guard = new VaultGuard(vault, new VaultWatch(() => 0));
  guard.listen({ answered: () => said.push('answered'), failed: () => said.push('failed') });
  return { guard, answers, said };
}

test('the listener of a guard is called once when the vault stops answering, and once when it resumes', async () => {
  const { guard, answers, said } = heard();
  answers.trouble = new VaultError('crashed', 'gone');
  await expect(getIfAny(guard, 'a')).rejects.toThrow('gone');
  expect(said).toEqual([]);
  delete answers.trouble;
  await getIfAny(guard, 'a');
  answers.trouble = new VaultError('crashed', 'gone');
  await expect(getIfAny(guard, 'a')).rejects.toThrow('gone');
  await expect(getIfAny(guard, 'a')).rejects.toThrow('gone');
  delete answers.trouble;
  await getIfAny(guard, 'a');
  expect(said).toEqual(['answered', 'failed', 'answered']);
});
