/** API keys as records over a vault that answers when the test says so. */
import { describe, expect, it } from 'vitest';
import { ApiKeys, type ApiKey } from '../../../src/broker/records/api-key.ts';
import { itemsOf, newRecords } from '../rig.ts';
import { getIfAny, type Vault } from '../../../src/vault/base/vault.ts';
import { memoryVault } from '../../../src/vault/memory.ts';
import { bound } from '../../vault/doubles.ts';

const place = { endpoint: 'https://tickets.example/mcp', header: 'X-Api-Key' };

/** `holds` makes reads wait until the function that it answers is called. */
async function scene() {
  const vault = memoryVault();
  let gate: Promise<void> = Promise.resolve();
  const slow: Vault = {
    ...bound(vault),
    get: async (id) => {
      const text = await vault.get(id);
      if (id.startsWith('k-')) await gate;
      return text;
    },
  };
  const records = await newRecords();
  const items = itemsOf(records, slow);
  const keys = new ApiKeys(records.keys, items);
  const key = await keys.set(place, 'first', { setAt: 1 });
  const holds = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    return resolve;
  };
  return { vault, records, items, keys, key, holds };
}

describe('the value of an API key', () => {
  it('is held from its first reading until it is cleared', async () => {
    const { keys, key } = await scene();
    expect(keys.held(key.id)).toBeUndefined();
    await keys.read(key);
    expect(keys.held(key.id)).toBe('first');
    keys.clear();
    expect(keys.held(key.id)).toBeUndefined();
  });

  it('is not held if the vault was locked while it was read', async () => {
    const { keys, key, holds } = await scene();
    const release = holds();
    const reading = keys.read(key);
    keys.clear();
    release();
    await reading;
    expect(keys.held(key.id)).toBeUndefined();
  });

  it.each([
    ['set anew', (keys: ApiKeys) => keys.set(place, 'second', { setAt: 2 })],
    ['removed', (keys: ApiKeys, key: ApiKey) => keys.remove(key)],
  ])('is not held if the key was %s while it was read', async (_what, change) => {
    const { keys, key, holds } = await scene();
    const release = holds();
    const reading = keys.read(key);
    await change(keys, key);
    release();
    await reading;
    expect(keys.held(key.id)).toBeUndefined();
  });

  it('stays if its record can’t be written, and the other value is deleted', async () => {
    const { vault, items, keys, records, key } = await scene();
    records.keys.change = async () => {
      throw new Error('no space left');
    };
    await expect(keys.set(place, 'second', { setAt: 2 })).rejects.toThrow('no space left');
    await keys.read(key);
    expect(keys.held(key.id)).toBe('first');
    const [name = ''] = records.unused.items.map((item) => item.name);
    expect(await getIfAny(vault, name)).toBe('second');
    await items.tidy();
    expect(await getIfAny(vault, name)).toBeUndefined();
    expect(records.unused.items).toEqual([]);
  });

  it('leaves the vault when the key gets another header, and when it is removed', async () => {
    const { vault, items, keys, key } = await scene();
    const next = await keys.set({ ...place, header: 'Authorization' }, 'second', { setAt: 2 });
    expect(next.id).not.toBe(key.id);
    await items.tidy();
    expect(await getIfAny(vault, key.item)).toBeUndefined();
    await keys.remove(next);
    await items.tidy();
    expect(await getIfAny(vault, next.item)).toBeUndefined();
    expect(keys.for(place.endpoint)).toBeUndefined();
  });
});
