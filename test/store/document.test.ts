/** The document: which file is accepted, and what a change leaves where it is cut off. */
import { createSecretKey } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { KeyturnError } from '../../src/base/errors.ts';
import { refusal } from '../broker/rig.ts';
import { add, DocumentHome, namesOf, savedHome, without } from './document-home.ts';
import { MissingItem } from '../../src/vault/base/trouble.ts';

/** The document is refused with these words; file and vault are as they were. */
async function expectRefused(home: DocumentHome, words: RegExp): Promise<void> {
  const [text, items] = [home.text, new Map(home.vault.items)];
  const broker = await home.start();
  const error = expect.objectContaining({
    reason: 'file_unreadable',
    message: expect.stringMatching(words),
    hint: expect.stringContaining('keyturn reset'),
  });
  expect(() => broker.list.items).toThrow(error);
  expect(await refusal(broker.list.change(without('a')))).toEqual(error);
  expect(await refusal(broker.list.change(add({ name: 'c' })))).toEqual(error);
  expect(broker.document.trouble).toMatchObject({ file: home.file, why: expect.stringMatching(words) });
  expect(home.text).toBe(text);
  expect(home.vault.items).toEqual(items);
}

const older = /is not the newest one that your vault knows/;
const unreadable = /can't be read, or Keyturn did not write it/;

describe('the document', () => {
  it('is no file before the first change, and readable by its owner alone afterwards', async () => {
    const home = new DocumentHome();
    const broker = await home.start();
    expect(broker.list.items).toEqual([]);
    expect(readdirSync(home.folder)).toEqual([]);
    expect(home.vault.calls).toEqual(['read']);
    await broker.list.change(add({ name: 'a' }));
    expect(statSync(home.file).mode & 0o777).toBe(0o600);
    expect(home.text.split('\n')).toHaveLength(5);
    expect(namesOf(await home.start())).toEqual(['a']);
  });

  it('can only be listed before it is verified', async () => {
    const { home } = await savedHome();
    home.vault.calls.length = 0;
    const { list, document } = await home.open();
    expect(list.shown).toHaveLength(2);
    expect(() => list.items).toThrow(expect.objectContaining({ reason: 'file_unreadable' }));
    expect(home.vault.calls).toEqual([]);
    await Promise.all([document.verify(), document.verify()]);
    await document.verify();
    expect(home.vault.calls).toEqual(['read']);
  });

  it('lists records, and decides nothing, while the vault is locked', async () => {
    const { home } = await savedHome();
    const locked = (): Promise<never> => Promise.reject(new KeyturnError('locked', 'the vault is locked'));
    const { document, list } = await home.open({ root: locked });
    expect(await refusal(document.verify())).toMatchObject({ reason: 'locked' });
    expect(await refusal(list.change(without('a')))).toMatchObject({ reason: 'locked' });
    expect(list.shown).toHaveLength(2);
    expect(() => list.items).toThrow();
  });

  it('of the memory vault is on no disk', async () => {
    const home = new DocumentHome();
    const get = async (): Promise<never> => {
      throw new MissingItem('newest');
    };
    const replace = async (_name: string, _before: unknown, after: string): Promise<string> => after;
    const vault = { kind: 'memory' as const, get, replace };
    const broker = await home.start({ vault });
    await broker.list.change(add({ name: 'a' }));
    expect(namesOf(broker)).toEqual(['a']);
    expect(readdirSync(home.folder)).toEqual([]);
  });
});

it('takes a change at any moment of the end of the one before', async () => {
  for (let moments = 0; moments < 20; moments += 1) {
    const { home, broker } = await savedHome();
    const second = Promise.withResolvers<void>();
    const replace = home.vault.replace.bind(home.vault);
    home.vault.replace = async (...asked) => {
      home.vault.replace = replace;
      const kept = await replace(...asked);
      void (async () => {
        for (let n = 0; n < moments; n += 1) await Promise.resolve();
        second.resolve(broker.list.change(add({ name: 'd' })));
      })();
      return kept;
    };
    await Promise.all([broker.list.change(add({ name: 'c' })), second.promise]);
    expect(namesOf(await home.start())).toEqual(['a', 'b', 'c', 'd']);
  }
});

describe('a file against the newest document that the vault knows', () => {
  it('is accepted as the successor, and the vault follows', async () => {
    const { home, broker } = await savedHome();
    home.vault.writes = 'hangs';
    void broker.list.change(add({ name: 'c' }));
    await expect.poll(() => home.vault.calls.at(-1)).toBe('write');
    home.vault.writes = 'works';
    expect(home.vault.number).toBe(2);
    expect(namesOf(await home.start())).toEqual(['a', 'b', 'c']);
    expect(home.vault.number).toBe(3);
  });

  it('is refused as an older copy', async () => {
    const { home, broker } = await savedHome();
    const { text } = home;
    await broker.list.change(without('a'));
    home.text = text;
    await expectRefused(home, older);
  });

  it('is refused as the other one of two successors', async () => {
    const { home, broker } = await savedHome();
    const before = home.text;
    const writes = (): number => home.vault.calls.filter((call) => call === 'write').length;
    const written = writes();
    home.vault.writes = 'hangs';
    void broker.list.change(add({ name: 'evil' }));
    await expect.poll(writes).toBe(written + 1);
    const branch = home.text;
    home.vault.writes = 'works';
    home.text = before;
    const honest = await home.start();
    await honest.list.change(without('a'));
    home.text = branch;
    await expectRefused(home, older);
  });

  it('is refused with any number above the successor', async () => {
    const { home, broker } = await savedHome();
    const known = new Map(home.vault.items);
    await broker.list.change(without('a'));
    await broker.list.change(without('b'));
    home.vault.items.clear();
    for (const [name, text] of known) home.vault.items.set(name, text);
    await expectRefused(home, older);
    const { list } = await home.start();
    expect(() => list.items).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('vault is older') }),
    );
  });

  it('is refused if it is gone', async () => {
    const { home } = await savedHome();
    rmSync(home.file);
    const { list } = await home.start();
    expect(() => list.items).toThrow(/is gone, and your vault knows that there was one/);
    await refusal(list.change(add({ name: 'c' })));
    expect(readdirSync(home.folder)).toEqual([]);
  });

  it('is not accepted while the vault shows no number, and counts once it does', async () => {
    const { home } = await savedHome();
    const known = new Map(home.vault.items);
    home.vault.items.clear();
    const { document, list } = await home.open();
    expect(await refusal(document.verify())).toMatchObject({ reason: 'vault_unreadable' });
    expect(() => list.items).toThrow();
    for (const [name, text] of known) home.vault.items.set(name, text);
    await document.verify();
    expect(list.items).toHaveLength(2);
  });

  it('is refused from another home, and under another root key', async () => {
    const { home } = await savedHome();
    const others = [
      { place: { home: 'B'.repeat(22), vault: 'keychain' } },
      { root: async () => createSecretKey(Buffer.alloc(32, 8)) },
    ];
    for (const parts of others) {
      const { list } = await home.start(parts);
      expect(() => list.items).toThrow(unreadable);
    }
  });
});

describe('a file that Keyturn did not write', () => {
  it('is refused with any byte changed, and with any end cut off', async () => {
    const { home, broker } = await savedHome();
    const { text } = home;
    const places = Array.from({ length: text.length }, (_, at) => at);
    const flipped = places.map((at) => {
      const bytes = Buffer.from(text);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      return bytes.toString('latin1');
    });
    const cut = places.map((at) => text.slice(0, at));
    for (const bent of [...flipped, ...cut]) {
      home.text = bent;
      const { list } = await home.start();
      expect(() => list.items, bent).toThrow(expect.objectContaining({ reason: 'file_unreadable' }));
      expect(home.text).toBe(bent);
    }
    home.text = text;
    expect(namesOf(await home.start())).toEqual(namesOf(broker));
  });

  const bent: readonly [string, (text: string) => string][] = [
    ['one more record', (text) => text.replace('["items"', '["items",{"name":"mine"}],\n["items"')],
    ['a field of no meaning', (text) => text.replace('"name":"a"', '"name":"a","admin":true')],
    ['a field twice', (text) => text.replace('"name":"a"', '"name":"a","name":"mine"')],
    ['an unknown list', (text) => text.replace('["items"', '["others"')],
    ['an unknown field of its own', (text) => text.replace('"number"', '"more":1,"number"')],
    ['something after its HMAC', (text) => `${text}\n`],
    ['no HMAC', (text) => text.replace(/"mac":"[^"]*"/, '"mac":""')],
    ['another format', (text) => text.replace('"version":1', '"version":2')],
    ['a record of another shape', (text) => text.replace('"name":"a"', '"name":{"secret":"hush"}')],
    ['nothing', () => ''],
    ['no JSON', () => 'hush'],
  ];

  it.each(bent)('(%s) is refused and kept', async (_what, bend) => {
    const { home } = await savedHome();
    home.text = bend(home.text);
    await expectRefused(home, unreadable);
    expect((await home.start()).document.trouble?.why).not.toContain('hush');
  });

  it.each([
    ['a folder', (file: string) => mkdirSync(file), /is not a plain file/],
    ['a symbolic link', (file: string) => symlinkSync('elsewhere', file), /symbolic link/],
  ])('(%s) is refused', async (_what, put, words) => {
    const { home } = await savedHome();
    renameSync(home.file, path.join(home.folder, 'elsewhere'));
    put(home.file);
    await expect(home.start().then(({ list }) => list.items)).rejects.toThrow(words);
  });

  it('(a mode that others may read or write) is refused until it is fixed', async () => {
    const { home } = await savedHome();
    for (const mode of [0o640, 0o604, 0o620, 0o666]) {
      chmodSync(home.file, mode);
      await expect(home.start().then(({ list }) => list.items)).rejects.toThrow(`0${mode.toString(8)}`);
    }
    chmodSync(home.file, 0o600);
    expect(namesOf(await home.start())).toEqual(['a', 'b']);
  });
});

describe('a change', () => {
  it('of many at once is written whole, and the newest is kept', async () => {
    const { home, broker } = await savedHome();
    const names = Array.from({ length: 50 }, (_, n) => `${n}`);
    await Promise.all(names.map((name) => broker.list.change(add({ name }))));
    expect(namesOf(await home.start())).toEqual(['a', 'b', ...names]);
    expect(home.vault.number).toBeLessThan(6);
    expect(readdirSync(home.folder)).toEqual(['document.json']);
  });

  it('that gives is in effect once it is stored; one that takes away at once', async () => {
    const { home, broker } = await savedHome();
    home.vault.writes = 'hangs';
    const gives = broker.list.change(add({ name: 'c' }));
    await expect.poll(() => home.text).toContain('"c"');
    const takes = broker.list.change(without('a'));
    expect(namesOf(broker)).toEqual(['b']);
    void gives;
    void takes;
  });

  it('that takes away is in the one that gives at the same time', async () => {
    const { home, broker } = await savedHome();
    const gives = broker.list.change(add({ name: 'c' }));
    await Promise.all([broker.list.change(without('a')), gives]);
    expect(namesOf(broker)).toEqual(['b', 'c']);
    expect(namesOf(await home.start())).toEqual(['b', 'c']);
  });

  it('whose edit throws changes nothing, and stops no other', async () => {
    const { home, broker } = await savedHome();
    const [bad, good] = [
      broker.list.change(() => {
        throw new KeyturnError('conflict', 'no');
      }),
      broker.list.change(add({ name: 'c' })),
    ];
    expect(await refusal(bad)).toMatchObject({ reason: 'conflict' });
    await good;
    expect(namesOf(await home.start())).toEqual(['a', 'b', 'c']);
  });
});

describe('without the vault', () => {
  it('three denials hold, nothing is given, and the number is right later', async () => {
    const { home, broker } = await savedHome();
    home.vault.away = true;
    for (const name of ['x', 'y', 'z']) await broker.list.change(add({ name, denies: true }));
    expect(broker.document.isOwed).toBe(true);
    expect(await refusal(broker.list.change(add({ name: 'c' })))).toMatchObject({
      reason: 'vault_unavailable',
    });
    expect(namesOf(broker)).toEqual(['a', 'b', 'x', 'y', 'z']);
    home.vault.away = false;
    expect(namesOf(await home.start())).toEqual(['a', 'b', 'x', 'y', 'z']);
    await broker.list.change(add({ name: 'c' }));
    expect(broker.document.isOwed).toBe(false);
    expect(home.vault.number).toBe(4);
    expect(namesOf(await home.start())).toEqual(['a', 'b', 'x', 'y', 'z', 'c']);
  });

  it('each denial replaces the same number: no higher one can be kept', async () => {
    const { home, broker } = await savedHome();
    home.vault.away = true;
    for (const name of ['x', 'y', 'z']) await broker.list.change(add({ name, denies: true }));
    const kept = home.text;
    expect(kept).toContain('"number":3');
    home.vault.away = false;
    await broker.document.settle();
    await broker.list.change(without('a'));
    home.text = kept;
    await expectRefused(home, older);
  });

  it('the number is written as soon as the vault answers', async () => {
    const { home, broker } = await savedHome();
    home.vault.away = true;
    await broker.list.change(without('a'));
    home.vault.away = false;
    await broker.document.settle();
    expect([broker.document.isOwed, home.vault.number]).toEqual([false, 3]);
  });

  it.each(['fails', 'keeps and fails'] as const)(
    'a number that is set but reported as failed (%s) stops no change',
    async (how) => {
      for (const next of [without('b'), add({ name: 'd' })]) {
        const { home, broker } = await savedHome();
        home.vault.writes = how;
        await broker.list.change(add({ name: 'c' }));
        expect(namesOf(broker)).toEqual(['a', 'b', 'c']);
        home.vault.writes = 'works';
        await broker.list.change(next);
        expect(namesOf(await home.start())).toEqual(namesOf(broker));
      }
    },
  );

  it('a number that was set although the vault is away by now refuses no later denial', async () => {
    const { home, broker } = await savedHome();
    home.vault.writes = 'keeps and fails';
    await broker.list.change(add({ name: 'c' }));
    home.vault.away = true;
    await broker.list.change(without('a'));
    home.vault.away = false;
    expect(namesOf(await home.start())).toEqual(['b', 'c']);
  });

  it('the first document is not written before the vault expects one', async () => {
    const home = new DocumentHome();
    const broker = await home.start();
    home.vault.writes = 'fails';
    const denial = broker.list.change(add({ name: 'x', denies: true }));
    expect(await refusal(denial)).toMatchObject({
      message: expect.stringContaining('This holds until the broker ends'),
    });
    expect(namesOf(broker)).toEqual(['x']);
    expect(readdirSync(home.folder)).toEqual([]);
    home.vault.writes = 'works';
    await broker.list.change(add({ name: 'a' }));
    expect(namesOf(await home.start())).toEqual(['x', 'a']);
  });
});
