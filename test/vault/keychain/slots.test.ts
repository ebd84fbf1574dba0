/**
 * A crash at every single step of a write and of a removal, over a store in memory: the keychain's own
 * steps are too slow to try them all there.
 */
import { expect, test } from 'vitest';
import type { Items } from '../../../src/vault/keychain/slots.ts';
import { chunkLength, readSlots, removeSlots, writeSlot } from '../../../src/vault/keychain/slots.ts';

const older = 'o'.repeat(chunkLength);
const newer = 'n'.repeat(chunkLength * 2);

/** A store that fails for good after `steps` changes. */
function storeOf(entries: Map<string, string>, steps = Infinity): Items {
  let left = steps;
  const change = (): void => {
    if (left === 0) throw new Error('the store broke down');
    left -= 1;
  };
  return {
    get: async (account) => entries.get(account),
    async set(account, value) {
      change();
      entries.set(account, value);
    },
    async remove(account) {
      change();
      return entries.delete(account);
    },
  };
}

/** How many changes `work` makes when nothing fails; a crash can come after each smaller number. */
async function countChanges(
  entries: Map<string, string>,
  work: (items: Items) => Promise<void>,
): Promise<number> {
  let changes = 0;
  const items = storeOf(new Map(entries));
  const counting: Items = {
    get: (account) => items.get(account),
    set: (...given) => ((changes += 1), items.set(...given)),
    remove: (...given) => ((changes += 1), items.remove(...given)),
  };
  await work(counting);
  return changes;
}

async function write(items: Items, secret: string): Promise<void> {
  const { newest } = await readSlots(items, 'id');
  await writeSlot(items, 'id', secret, newest);
}

async function remove(items: Items): Promise<void> {
  const { newest } = await readSlots(items, 'id');
  await removeSlots(items, 'id', newest);
}

async function holding(...secrets: string[]): Promise<Map<string, string>> {
  const entries = new Map<string, string>();
  for (const secret of secrets) await write(storeOf(entries), secret);
  return entries;
}

test('a write that fails at any step leaves the old value or, once its head is written, the new one', async () => {
  const before = await holding('first', older);
  const places = await countChanges(before, (items) => write(items, newer));
  expect(places).toBeGreaterThan(6);
  for (let steps = 0; steps < places; steps++) {
    const entries = new Map(before);
    const outcome = await write(storeOf(entries, steps), newer).then(
      () => newer,
      () => older,
    );
    const { newest } = await readSlots(storeOf(entries), 'id');
    expect(newest?.secret, `after ${steps} steps`).toBe(outcome);

    await write(storeOf(entries), 'again');
    expect([...entries.keys()].toSorted(), 'nothing is left behind').toHaveLength(2);
  }
});

test('the head is the last thing written', async () => {
  const entries = new Map<string, string>();
  await expect(write(storeOf(entries, 4), newer)).rejects.toThrow('broke down');
  expect([...entries.keys()]).toEqual(['id/a/0', 'id/a/1', 'id/a/2']);
});

test('a removal that fails at any step never brings back an older value, and can be repeated', async () => {
  const before = await holding(older);
  for (const [account, value] of await holding('first', newer)) before.set(account, value);
  const places = await countChanges(before, remove);
  for (let steps = 0; steps < places; steps++) {
    const entries = new Map(before);
    await expect(remove(storeOf(entries, steps))).rejects.toThrow('broke down');
    const { newest } = await readSlots(storeOf(entries), 'id');
    expect([newer, undefined], `after ${steps} steps`).toContain(newest?.secret);

    await remove(storeOf(entries));
    expect(entries.size, `after ${steps} steps`).toBe(0);
  }
});
