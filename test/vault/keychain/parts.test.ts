/** Long values on Windows: a store that takes 2,560 bytes an item, and a kill at every single step. */
import { expect, test } from 'vitest';
import type { ItemStore } from '../../../src/vault/base/item-store.ts';
import { inParts } from '../../../src/vault/keychain/parts.ts';
import { keychainStore } from '../../../src/vault/keychain/keychain.ts';
import { memoryKeychain, type Keychain } from '../doubles.ts';
import { vaultOver } from '../vaults.ts';
import { scriptedKeychain } from './scripted-worker.ts';

/** What the Credential Manager takes. */
const limit = 2560;

interface Limits {
  readonly encoding?: 'utf8' | 'utf16le';
  readonly steps?: number;
}

/** Refuses a longer item, and fails for good after `steps` changes. */
function limited(keychain: Keychain, { encoding = 'utf16le', steps = Infinity }: Limits = {}): ItemStore {
  let left = steps;
  const step = (): void => {
    if (left === 0) throw new Error('killed');
    left -= 1;
  };
  const small: ItemStore = {
    ...keychain,
    async set(name, value) {
      step();
      if (Buffer.byteLength(value, encoding) > limit) throw new Error('too long');
      return keychain.set(name, value);
    },
    async delete(name) {
      step();
      return keychain.delete(name);
    },
  };
  return { ...small, ...inParts(small) };
}

test.each(['utf8', 'utf16le'] as const)(
  'takes values of every length where items count as %s',
  async (encoding) => {
    const keychain = memoryKeychain();
    const vault = vaultOver(limited(keychain, { encoding }));
    // Growing and shrinking.
    for (const length of [1, 870, 871, 872, 1199, 1200, 1201, 4000, 8000, 4000, 1200, 8000, 1]) {
      await vault.set('s', 'x'.repeat(length));
      expect((await vault.get('s')).length).toBe(length);
    }
    await vault.set('s', 'é'.repeat(2000));
    expect(await vault.get('s')).toBe('é'.repeat(2000));
    await vault.delete('s');
    expect([...keychain.items.keys()]).toEqual(['root']);
  },
);

const lengths = { short: 10, one: 3000, other: 5000 };

test.each([
  ['short', 'one'],
  ['one', 'other'],
  ['other', 'one'],
  ['other', 'short'],
] as const)('a kill during a change from a %s value to a %s one leaves one whole', async (from, to) => {
  const [old, next] = ['o'.repeat(lengths[from]), 'n'.repeat(lengths[to])];
  for (let steps = 0; ; steps++) {
    const keychain = memoryKeychain();
    await vaultOver(limited(keychain)).set('s', old);
    const killed = vaultOver(limited(keychain, { steps }));
    const outcome = await killed.set('s', next).then(
      () => 'done',
      () => 'killed',
    );
    const after = vaultOver(limited(keychain));
    expect(outcome === 'done' ? [next] : [old, next], `after ${steps} steps`).toContain(await after.get('s'));
    await after.set('s', 'again');
    expect(await after.get('s')).toBe('again');
    await after.delete('s');
    expect([...keychain.items.keys()], `after ${steps} steps`).toEqual(['root']);
    if (outcome === 'done' && steps > 30) break;
  }
});

test('a kill at any step of a deletion is made good by the next one', async () => {
  for (let steps = 0; steps < 21; steps++) {
    const keychain = memoryKeychain();
    await vaultOver(limited(keychain)).set('s', 'x'.repeat(3000));
    await expect(vaultOver(limited(keychain, { steps })).delete('s')).rejects.toThrow('killed');
    await vaultOver(limited(keychain)).delete('s');
    expect([...keychain.items.keys()], `after ${steps} steps`).toEqual(['root']);
  }
});

test('a Credential Manager without room is full', async () => {
  const scripted = scriptedKeychain();
  const platform = 'win32';
  const vault = vaultOver(keychainStore({ service: 'x', spawnWorker: scripted.spawn, platform }));
  await vault.set('s', 'kept');
  const refuse = "the Credential Manager can't write: error 8";
  scripted.act = ({ op }) => (op === 'set' ? { refuse } : 'obey');
  await expect(vault.set('s', 'x'.repeat(3000))).rejects.toMatchObject({ kind: 'full' });
  expect(await vault.get('s')).toBe('kept');
});
