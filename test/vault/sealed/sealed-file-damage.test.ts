/** Power cuts, flipped bits and rearranged records: never a wrong value, never "absent" for what was there. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { SealedFileVault } from '../../../src/vault/sealed/sealed-file.ts';
import { headItem } from '../../../src/vault/sealed/sealed-head.ts';
import { decodeHeader } from '../../../src/vault/sealed/sealed-header.ts';
import { openLogKey } from '../../../src/vault/sealed/sealed-key.ts';
import type { LogKey } from '../../../src/vault/sealed/sealed-key.ts';
import {
  headLength,
  openRecord,
  recordMagic,
  segmentLength,
  segmentMagic,
} from '../../../src/vault/sealed/sealed-record.ts';
import { replay } from '../../../src/vault/sealed/sealed-replay.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { changedCopy, lastingKeychain, newPlace, opened, said } from './sealed-home.ts';

interface Sample {
  readonly file: string;
  readonly bytes: Buffer;
  readonly keychain: Vault;
  readonly key: LogKey;
  /** Where each record begins, in the order of writing. */
  readonly records: readonly number[];
}

const ids = ['a', 'b', 'c', 'd', 'gone'] as const;

/** An empty base segment, then eight records in two: a, b, c, gone | b anew, gone removed, c anew, d. */
async function sample(): Promise<Sample> {
  const [file, keychain] = [newPlace(), lastingKeychain()];
  const vault = opened(file, { kind: 'keychain', vault: keychain });
  for (const id of ['a', 'b', 'c', 'gone']) await vault.write(id, `${id} first`);
  await vault.close();
  const again = opened(file, { kind: 'keychain', vault: keychain });
  await again.write('b', 'b second');
  await again.remove('gone');
  await again.write('c', 'c second');
  await again.write('d', 'd first');
  await again.close();
  const bytes = readFileSync(file);
  const { header } = decodeHeader(bytes, 'sample');
  const key = await openLogKey(header, { kind: 'keychain', vault: keychain }, undefined, 'sample');
  return { file, bytes, keychain, key, records: positions(bytes, recordMagic) };
}

const newest: Readonly<Record<(typeof ids)[number], string>> = {
  a: 'a first',
  b: 'b second',
  c: 'c second',
  d: 'd first',
  gone: 'absent',
};

function positions(bytes: Buffer, magic: Buffer): number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf(magic); at !== -1; at = bytes.indexOf(magic, at + 1)) found.push(at);
  return found;
}

/** With a keychain that has no head yet: this file tests the log itself, and sealed-head.test.ts the head. */
async function changed(
  { file, keychain }: Sample,
  change: (bytes: Buffer) => Buffer,
): Promise<{
  vault: SealedFileVault;
  file: string;
  lines: string[];
}> {
  await keychain.remove(headItem);
  const [copy, lines] = [changedCopy(file, change), [] as string[]];
  const vault = opened(copy, { kind: 'keychain', vault: keychain }, (line) => void lines.push(line));
  return { vault, file: copy, lines };
}

async function allSaid(vault: Vault): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const id of ids) answers[id] = await said(vault, id);
  return answers;
}

function flip(at: number, bit: number): (bytes: Buffer) => Buffer {
  return (bytes) => {
    bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
    return bytes;
  };
}

function recordAt(sampled: Sample, index: number): number {
  const at = sampled.records.at(index);
  if (at === undefined) throw new Error('no such record');
  return at;
}

/** What a vault would answer for each id from these bytes: for every possible change, without a disk. */
function readings({ bytes, key }: Sample): (change: (copy: Buffer) => Buffer) => Record<string, string> {
  const { length } = decodeHeader(bytes, 'sample');
  return (change) => {
    const copy = change(Buffer.from(bytes));
    const { items, doubt } = replay(copy, length, key);
    const answer = (id: string): string => {
      const item = items.get(id);
      if (item?.state === 'lost' || (!item && doubt)) return 'vault_unreadable';
      if (item?.state !== 'live') return 'absent';
      const record = copy.subarray(item.offset, item.offset + item.length);
      return openRecord(record, item.segment, item.sequence)?.toString() ?? 'not authentic';
    };
    return Object.fromEntries(ids.map((id) => [id, answer(id)]));
  };
}

/** Every id whose answer is neither its newest value nor "unreadable". */
function wrong(answers: Record<string, string>, where: string): string[] {
  return ids
    .filter((id) => answers[id] !== newest[id] && answers[id] !== 'vault_unreadable')
    .map((id) => `${id} is ${answers[id]} ${where}`);
}

/** Bytes between two positions that are tried on disk; a prime number reaches every field of a record in the end. */
const stride = 13;

describe('a file that ends early', () => {
  test('a file that is cut anywhere in its last two records is read up to its last whole record', async () => {
    const sampled = await sample();
    const read = readings(sampled);
    const [c, d] = [recordAt(sampled, -2), recordAt(sampled, -1)];
    for (let length = c; length < sampled.bytes.length; length++) {
      const whole = { ...newest, d: 'absent', ...(length < d ? { c: 'c first' } : {}) };
      expect(
        read((bytes) => bytes.subarray(0, length)),
        `${length}`,
      ).toEqual(whole);
    }
  });

  test('a file that ends in a torn record keeps its whole records, and the torn rest is kept beside it', async () => {
    const sampled = await sample();
    const [c, d] = [recordAt(sampled, -2), recordAt(sampled, -1)];
    for (let length = c; length < sampled.bytes.length; length += stride) {
      const { vault, file, lines } = await changed(sampled, (bytes) => bytes.subarray(0, length));
      const lastWhole = length < d ? c : d;
      expect(await said(vault, 'd')).toBe('absent');
      expect(statSync(file).size).toBe(lastWhole);
      const aside = readdirSync(path.dirname(file)).filter((name) => name.includes('.torn-'));
      const kept = aside.map((name) => readFileSync(path.join(path.dirname(file), name)));
      expect(kept).toEqual(length === lastWhole ? [] : [sampled.bytes.subarray(lastWhole, length)]);
      expect(lines).toHaveLength(kept.length);
      await vault.write('d', 'd again');
      await vault.unlock();
      expect([await vault.read('d'), await vault.read('a')]).toEqual(['d again', 'a first']);
      expect(await vault.condition()).toEqual({ state: 'open' });
      await vault.close();
    }
  });

  test('a file that ends within its first line or first segment is unreadable, not empty', async () => {
    const sampled = await sample();
    const [base = 0] = positions(sampled.bytes, segmentMagic);
    const unreadable = Object.fromEntries(ids.map((id) => [id, 'vault_unreadable']));
    const read = readings(sampled);
    for (let length = base; length < base + segmentLength; length++)
      expect(read((bytes) => bytes.subarray(0, length))).toEqual(unreadable);
    for (const length of [0, 1, base - 1, base, base + 1]) {
      const { vault } = await changed(sampled, (bytes) => bytes.subarray(0, length));
      expect(await allSaid(vault)).toEqual(unreadable);
    }
  });

  test('a file that ends in zeros counts as torn', async () => {
    const sampled = await sample();
    const d = recordAt(sampled, -1);
    for (const written of [0, 3, headLength, headLength + 4]) {
      const { vault } = await changed(sampled, (bytes) => bytes.fill(0, d + written));
      expect(await allSaid(vault)).toEqual({ ...newest, d: 'absent' });
    }
  });
});

describe('a flipped bit', () => {
  test('a flipped bit in the log never makes an item absent, and never brings back an older value', async () => {
    const sampled = await sample();
    const read = readings(sampled);
    const [base = 0] = positions(sampled.bytes, segmentMagic);
    const found: string[] = [];
    for (let at = base; at < sampled.bytes.length; at++)
      for (let bit = 0; bit < 8; bit++) found.push(...wrong(read(flip(at, bit)), `after a flip at ${at}`));
    expect(found).toEqual([]);
  });

  test('a flipped bit anywhere in the file is reported if an item is lost', async () => {
    const sampled = await sample();
    for (let at = 0; at < sampled.bytes.length; at += stride) {
      const { vault, lines } = await changed(sampled, flip(at, at % 8));
      const answers = await allSaid(vault);
      expect(wrong(answers, `after a flip at ${at}`)).toEqual([]);
      // In the first line it can't be opened at all, and every call says so.
      const costs = ids.some((id) => answers[id] !== newest[id]);
      const opens = (await vault.condition()).state === 'open';
      if (costs && opens) expect(lines).toEqual([expect.stringContaining('damaged')]);
      await vault.close();
    }
  });

  test('a flipped bit in a body makes one item unreadable, until that item is written again', async () => {
    const sampled = await sample();
    const { vault, lines } = await changed(sampled, flip(recordAt(sampled, 4) + headLength, 0));
    expect(await allSaid(vault)).toEqual({ ...newest, b: 'vault_unreadable' });
    expect(await vault.condition()).toEqual({ state: 'open', damage: 'damaged: "b"' });
    expect(lines).toEqual([expect.stringContaining('damaged: "b"')]);
    await vault.write('b', 'b third');
    expect(await vault.condition()).toEqual({ state: 'open' });
    await vault.unlock();
    expect(await allSaid(vault)).toEqual({ ...newest, b: 'b third' });
  });

  test('a flipped bit in a head makes every item unreadable that no later record names, even one never written', async () => {
    const sampled = await sample();
    const { vault } = await changed(sampled, flip(recordAt(sampled, 4) + 20, 0));
    expect(await allSaid(vault)).toEqual({ ...newest, a: 'vault_unreadable', b: 'vault_unreadable' });
    expect(await said(vault, 'never')).toBe('vault_unreadable');
    await vault.remove('a');
    await vault.write('b', 'b third');
    await vault.unlock();
    expect(await allSaid(vault)).toEqual({ ...newest, a: 'absent', b: 'b third' });
  });

  test('a file with a flipped bit is never rewritten, however much of it is dead', async () => {
    const sampled = await sample();
    const { vault, file } = await changed(sampled, flip(recordAt(sampled, 4) + headLength, 0));
    for (let n = 0; n < 5; n++) await vault.write('big', 'x'.repeat(200_000));
    await vault.find('a');
    expect(statSync(file).size).toBeGreaterThan(1_000_000);
    expect(readFileSync(file).subarray(0, recordAt(sampled, 4))).toEqual(
      sampled.bytes.subarray(0, recordAt(sampled, 4)),
    );
  });
});

describe('records that were moved', () => {
  /** The bytes before the record, the record, and the bytes after it. */
  function cut({ bytes, records }: Sample, index: number): [Buffer, Buffer, Buffer] {
    const [from, to] = [records.at(index) ?? 0, records.at(index + 1) ?? bytes.length];
    return [bytes.subarray(0, from), bytes.subarray(from, to), bytes.subarray(to)];
  }

  test('a missing record in the middle is noticed', async () => {
    const sampled = await sample();
    const [before, , behind] = cut(sampled, 1);
    const { vault } = await changed(sampled, () => Buffer.concat([before, behind]));
    expect(await allSaid(vault)).toEqual({ ...newest, a: 'vault_unreadable' });
  });

  test('a repeated old record never brings back an older value', async () => {
    const sampled = await sample();
    const [before, record, behind] = cut(sampled, 4);
    // After the later records of its own segment, and at the end of the file.
    for (const again of [
      Buffer.concat([before, record, behind, record]),
      Buffer.concat([before, record, record, behind]),
    ]) {
      const { vault } = await changed(sampled, () => again);
      expect(wrong(await allSaid(vault), 'after a record was doubled')).toEqual([]);
    }
  });

  test('a segment that is missing, doubled or out of order is noticed', async () => {
    const sampled = await sample();
    const [base = 0, first = 0, second = 0] = positions(sampled.bytes, segmentMagic);
    const start = sampled.bytes.subarray(0, first);
    const [one, two] = [sampled.bytes.subarray(first, second), sampled.bytes.subarray(second)];
    const noBase = Buffer.concat([start.subarray(0, base), one, two]);
    const read = readings(sampled);
    for (const bytes of [
      noBase,
      ...[[two], [two, one], [one, two, two], [one, two, one], [one, one, two], [start, one, two]].map(
        (parts) => Buffer.concat([start, ...parts]),
      ),
    ])
      expect(
        wrong(
          read(() => bytes),
          'after the segments were moved',
        ),
      ).toEqual([]);
  });
});
