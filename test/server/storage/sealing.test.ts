/** What a thief of the storage, or somebody who writes into it, can do where its contents are sealed. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { memoryStorage } from '../../../src/server/storage/memory.ts';
import { sealedStorage } from '../../../src/server/storage/sealing.ts';

const first = { id: 'first', key: new Uint8Array(randomBytes(32)) };
const second = { id: 'second', key: new Uint8Array(randomBytes(32)) };
const secret = { payload: { secret: 'the-secret-itself' }, uid: 'u' };

describe('an item in a sealed storage', () => {
  it('AS-26: lies there in no readable form, and never twice in the same', async () => {
    const below = memoryStorage();
    const storage = sealedStorage(below, [first]);
    await storage.put('Client', 'a', secret);
    await storage.add('Client', 'b', secret);
    const lying = await below.list('Client');
    expect(JSON.stringify(lying)).not.toContain('the-secret-itself');
    expect(lying[0]?.item.payload).not.toEqual(lying[1]?.item.payload);
    await storage.replace('Client', 'b', secret.payload, { secret: 'the-next-secret' });
    expect(JSON.stringify(await below.list('Client'))).not.toContain('the-next-secret');
    expect((await storage.get('Client', 'b'))?.payload).toEqual({ secret: 'the-next-secret' });
  });

  it.each<[string, (payload: Record<string, unknown>) => Record<string, unknown>, string, string]>([
    ['was moved to another id', (payload) => payload, 'Client', 'other'],
    ['was moved to another kind', (payload) => payload, 'SigningKey', 'a'],
    ['was never sealed', () => ({ secret: 'planted' }), 'Client', 'a'],
    ['has a readable part beside the sealed one', (payload) => ({ ...payload, secret: 'x' }), 'Client', 'a'],
    ['names a key that nobody gave', (payload) => ({ ...payload, keyId: 'none' }), 'Client', 'a'],
    ['has another bit', (payload) => ({ ...payload, sealed: changed(payload['sealed']) }), 'Client', 'a'],
  ])('AS-26: is refused where it %s', async (_what, change, kind, id) => {
    const below = memoryStorage();
    const storage = sealedStorage(below, [first, second]);
    await storage.put('Client', 'a', secret);
    const lying = (await below.get('Client', 'a'))?.payload ?? {};
    await below.put(kind, id, { payload: change({ ...lying }), uid: 'u2' });
    const refusal = `An item of the storage (${kind}) can't be opened`;
    await expect(storage.get(kind, id)).rejects.toThrow(refusal);
    await expect(storage.getByUid(kind, 'u2')).rejects.toThrow(refusal);
    await expect(storage.list(kind)).rejects.toThrow(refusal);
    await expect(storage.scan()).rejects.toThrow(refusal);
    await expect(storage.replace(kind, id, secret.payload, {})).rejects.toThrow(refusal);
  });

  it('AS-26: opens with an older key, and after a reseal without it', async () => {
    const below = memoryStorage();
    await sealedStorage(below, [first]).put('Client', 'a', { ...secret, expiresAt: 9, grantId: 'g' });
    await below.consume('Client', 'a', 5);
    const both = sealedStorage(below, [second, first]);
    await both.put('Client', 'b', secret);
    expect(await both.get('Client', 'a')).toMatchObject(secret);
    await expect(sealedStorage(below, [second]).get('Client', 'a')).rejects.toThrow('none of the keys');
    expect([await both.reseal(), await both.reseal()]).toEqual([1, 0]);
    expect(await sealedStorage(below, [second]).get('Client', 'a')).toEqual({
      ...secret,
      expiresAt: 9,
      grantId: 'g',
      consumedAt: 5,
    });
  });
});

it.each([
  ['none', []],
  ['a key of 31 bytes', [{ id: 'k', key: new Uint8Array(31) }]],
  ['two of one name', [first, { ...second, id: 'first' }]],
])('the keys of a sealed storage are refused where there is %s', (_what, keys) => {
  expect(() => sealedStorage(memoryStorage(), keys)).toThrow(/keys\S* of sealedStorage can't be used/);
});

it('a sealed storage refuses text as a key, and a storage that isn’t open yet', () => {
  const key = Buffer.from(first.key).toString('base64');
  expect(() => sealedStorage(memoryStorage(), [{ id: 'k', key: key as never }])).toThrow(
    "pass bytes (Buffer.from(text, 'base64')), not text",
  );
  const opening = Promise.resolve(memoryStorage());
  expect(() => sealedStorage(opening as never, [first])).toThrow('it is a Promise: write await before it');
});

/** The last bit of the sealed text is another. */
function changed(sealed: unknown): string {
  const bytes = Buffer.from(String(sealed), 'base64url');
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  return bytes.toString('base64url');
}
