/** The head of a sealed file in the keychain: what a crash at each step leaves, and what a write costs. */
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { KeyturnError } from '../../../src/base/errors.ts';
import type { SealedFileVault } from '../../../src/vault/sealed/sealed-file.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { lastingKeychain, newPlace, opened, said } from './sealed-home.ts';

const headItem = 'sealed-file-head';

interface Scene {
  readonly file: string;
  readonly keychain: Vault;
  readonly open: () => SealedFileVault;
}

function scene(): Scene {
  const [file, keychain] = [newPlace(), lastingKeychain()];
  return { file, keychain, open: () => opened(file, { kind: 'keychain', vault: keychain }) };
}

const headIn = async (keychain: Vault): Promise<{ tags: string[] }> =>
  JSON.parse(await keychain.read(headItem)) as { tags: string[] };

/** Lets writes of the head go through `step`, until the function it returns is called. */
function onHead(keychain: Vault, step: (write: () => Promise<void>) => Promise<void>): () => void {
  const write = keychain.write.bind(keychain);
  keychain.write = (id, text) => (id === headItem ? step(() => write(id, text)) : write(id, text));
  return () => {
    keychain.write = write;
  };
}

const never = (): Promise<void> => new Promise(() => undefined);
const fails = (): Promise<void> => Promise.reject(new KeyturnError('vault_unavailable', 'gone'));

/**
 * The keychain of a broker that dies while it rewrites its file: either once the head names both files
 * (`before` the new one takes its place), or `after` that, before the head names the new one alone.
 */
function dyingAt(keychain: Vault, when: 'before' | 'after') {
  const [died, held] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()];
  held.promise.catch(() => undefined);
  let [namesTwo, isDead] = [false, false];
  const die = (): Promise<never> => {
    isDead = true;
    died.resolve();
    return held.promise;
  };
  const write = async (id: string, text: string): Promise<void> => {
    if (isDead || (namesTwo && when === 'after')) return die();
    await keychain.write(id, text);
    namesTwo = id === headItem && (await headIn(keychain)).tags.length === 2;
    if (namesTwo && when === 'before') await die();
  };
  const dying: Vault = {
    kind: keychain.kind,
    find: (id) => keychain.find(id),
    read: (id) => keychain.read(id),
    write,
    remove: (id) => keychain.remove(id),
    probe: () => keychain.probe(),
    destroy: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const release = (): void => held.reject(new KeyturnError('vault_unavailable', 'it is dead'));
  return { dying, dead: died.promise, release };
}

describe('a file that is ahead of its head', () => {
  test('a file with one or several writes more than its head is accepted after a crash, and the head is brought up to date', async () => {
    const { keychain, open } = scene();
    const vault = open();
    await vault.write('a', 'first');
    const before = await headIn(keychain);
    const back = onHead(keychain, never);
    void vault.write('a', 'second');
    void vault.write('b', 'second');
    await expect.poll(() => vault.find('b')).toBe('second');
    back();
    const next = open();
    expect(await next.read('a')).toBe('second');
    expect(await next.read('b')).toBe('second');
    expect(await headIn(keychain)).not.toEqual(before);
  });

  test('a file with a torn write more than its head keeps its whole records', async () => {
    const { file, keychain, open } = scene();
    const vault = open();
    await vault.write('a', 'first');
    const back = onHead(keychain, never);
    void vault.write('a', 'second');
    await expect.poll(() => vault.find('a')).toBe('second');
    back();
    writeFileSync(file, readFileSync(file).subarray(0, -5));
    expect(await said(open(), 'a')).toBe('first');
  });

  test('a file with probes more than its head is accepted without a write to the keychain', async () => {
    const { keychain, open } = scene();
    const vault = open();
    await vault.write('a', 'first');
    await vault.probe();
    await vault.close();
    let writes = 0;
    const back = onHead(keychain, async (write) => {
      writes += 1;
      await write();
    });
    expect(await open().read('a')).toBe('first');
    expect(writes).toBe(0);
    back();
  });
});

describe('a file that is rewritten', () => {
  /** Writes until the file has been rewritten. */
  async function churn(vault: Vault): Promise<void> {
    for (let n = 0; n < 8; n++) await vault.write('churn', `${n} ${'x'.repeat(60_000)}`);
    await vault.find('churn');
  }

  test('the head names a rewritten file before it replaces the old one, and names only the new one afterwards', async () => {
    const { keychain, open } = scene();
    const vault = open();
    await vault.write('a', 'kept');
    const named: number[] = [];
    const back = onHead(keychain, async (write) => {
      await write();
      named.push((await headIn(keychain)).tags.length);
    });
    await churn(vault);
    expect(named).toContain(2);
    expect(named.at(-1)).toBe(1);
    back();
    expect(await said(open(), 'a')).toBe('kept');
  });

  test.each([
    ['before it replaces the old one', 'before' as const],
    ['before the head names only the new one', 'after' as const],
  ])('a rewritten file is accepted after a crash %s', async (_when, when) => {
    const { file, keychain, open } = scene();
    const { dying, dead, release } = dyingAt(keychain, when);
    const vault = opened(file, { kind: 'keychain', vault: dying });
    await vault.write('a', 'kept');
    void churn(vault).catch(() => undefined);
    await dead;
    const next = open();
    expect(await said(next, 'a')).toBe('kept');
    expect((await headIn(keychain)).tags).toHaveLength(1);
    await next.write('a', 'newer');
    // It compacts after its answer. A vault that opens in the middle of that reads the file before the head.
    await next.close();
    const found = await said(open(), 'a');
    release();
    expect(found).toBe('newer');
  });

  test('a rewrite leaves the file unchanged if the keychain refuses the head, and succeeds once it accepts', async () => {
    const { keychain, open } = scene();
    const vault = open();
    await vault.write('a', 'kept');
    const back = onHead(keychain, fails);
    for (let n = 0; n < 8; n++) await vault.write('churn', 'x'.repeat(60_000)).catch(() => undefined);
    expect(await vault.read('a')).toBe('kept');
    back();
    await churn(vault);
    expect(await said(open(), 'a')).toBe('kept');
  });
});

describe('a keychain that fails', () => {
  test('a write fails if the keychain fails; the file holds the new value, and the next write updates the head', async () => {
    const { keychain, open } = scene();
    const vault = open();
    await vault.write('a', 'first');
    const back = onHead(keychain, fails);
    await expect(vault.write('a', 'second')).rejects.toMatchObject({ reason: 'vault_unavailable' });
    expect(await vault.read('a')).toBe('second');
    back();
    await vault.write('b', 'third');
    const head = await headIn(keychain);
    expect(await said(open(), 'a')).toBe('second');
    expect(await headIn(keychain)).toEqual(head);
  });

  test('a head of an unknown shape is left as it is, and the error names it', async () => {
    const { keychain, open } = scene();
    await open().write('a', 'first');
    await keychain.write(headItem, '{"version":2}');
    await expect(open().read('a')).rejects.toMatchObject({
      reason: 'vault_unreadable',
      message: expect.stringContaining('unknown shape'),
    });
    expect(await keychain.read(headItem)).toBe('{"version":2}');
  });
});

test('a file without a head gets one when it is opened', async () => {
  const { file, keychain, open } = scene();
  const vault = open();
  await vault.write('a', 'first');
  const older = readFileSync(file);
  await vault.write('a', 'second');
  await vault.close();
  await keychain.remove(headItem);
  expect(await said(open(), 'a')).toBe('second');
  writeFileSync(file, older);
  expect(await said(open(), 'a')).toBe('vault_unreadable');
});

test('writes that wait at the same time share one write of the head', async () => {
  const { keychain, open } = scene();
  const vault = open();
  await vault.write('a', 'first');
  let writes = 0;
  const back = onHead(keychain, async (write) => {
    writes += 1;
    // The vault answers in the order of its calls: all other writes have reached the file by then.
    await vault.find('grant.39');
    await write();
  });
  await Promise.all(Array.from({ length: 40 }, (_, n) => vault.write(`grant.${n}`, `${n}`)));
  expect(writes).toBeLessThan(4);
  back();
  expect(await said(open(), 'grant.39')).toBe('39');
});

test('destroying a vault removes its head too', async () => {
  const { keychain, open } = scene();
  const vault = open();
  await vault.write('a', 'first');
  const removed: string[] = [];
  keychain.destroy = async (ids) => void removed.push(...ids);
  await vault.destroy(['a']);
  expect(removed).toEqual(['sealed-file-key', headItem]);
});
