/** The document on a disk that fails: the file is whole, and memory, answer and the next start agree with it. */
import { readdirSync } from 'node:fs';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { listOf } from '../../src/store/home-document.ts';
import { newItemName, unusedList, unusedRules, unusedSchema } from '../../src/store/unused-items.ts';
import { refusal } from '../broker/rig.ts';
import { disk, steps, watchDisk } from '../support/failing-disk.ts';
import { add, DocumentHome, namesOf, savedHome, without } from './document-home.ts';

afterAll(watchDisk());
beforeEach(() => void (disk.fails = undefined));

const full = ['write', 'ENOSPC'] as const;

describe('a change on a disk', () => {
  it('sets the number in the vault only after file and folder are synced', async () => {
    const { home, broker } = await savedHome();
    const write = home.vault.replace.bind(home.vault);
    home.vault.replace = async (...given) => {
      disk.done.push('vault');
      return write(...given);
    };
    for (const change of [add({ name: 'c' }), add({ name: 'x', denies: true }), without('a')]) {
      disk.done.length = 0;
      await broker.list.change(change);
      expect(disk.done).toEqual([...steps, 'vault']);
    }
  });

  const failures = steps.flatMap((step) => ['ENOSPC', 'EIO', 'EROFS'].map((code) => [step, code] as const));

  it.each(failures)('that fails (%s, %s) leaves the old file or the new one', async (step, code) => {
    const { home, broker } = await savedHome();
    const { text } = home;
    disk.fails = [step, code];
    const given = await broker.list.change(add({ name: 'c' })).catch((error: unknown) => error);
    disk.fails = undefined;
    expect(readdirSync(home.folder)).toEqual(['document.json']);
    if (step === 'sync folder') {
      // The new file is there. A power cut could undo it, so the vault must not be ahead of it.
      expect([given, home.vault.number, broker.document.isOwed]).toEqual([undefined, 2, true]);
    } else {
      expect(given).toMatchObject({ message: expect.stringContaining(`can't be written (${code})`) });
      expect([home.text, home.vault.number]).toEqual([text, 2]);
    }
    expect(namesOf(await home.start())).toEqual(namesOf(broker));
  });

  it('gives nothing if it can’t be stored, and takes away until the broker ends', async () => {
    const { home, broker } = await savedHome();
    const { text } = home;
    disk.fails = full;
    await refusal(broker.list.change(add({ name: 'c' })));
    const takes = await refusal(broker.list.change(without('a')));
    expect(takes).toMatchObject({ message: expect.stringContaining('This holds until the broker ends') });
    expect(namesOf(broker)).toEqual(['b']);
    expect([home.text, home.vault.number]).toEqual([text, 2]);
    disk.fails = undefined;
    // The next change that is stored has it.
    await broker.list.change(add({ name: 'd' }));
    const next = await home.start();
    expect([namesOf(next), next.document.isHeld]).toEqual([['b', 'd'], false]);
  });

  it('doesn’t say of a name for the vault that it holds, in a home where other lists are empty', async () => {
    const home = new DocumentHome();
    const { document } = await home.start();
    const unused = listOf(document, unusedList, unusedSchema, unusedRules);
    disk.fails = full;
    const refused = await refusal(unused.change((items) => [...items, { name: newItemName('k') }]));
    expect(refused).toMatchObject({ message: expect.stringMatching(/^\/.* can't be written \(ENOSPC\)/) });
    expect(unused.items).toEqual([]);
    disk.fails = undefined;
    expect((await home.start()).document.isHeld).toBe(false);
  });
});

describe('the next start', () => {
  it('doesn’t mind a name that could not be removed from the list of unused items', async () => {
    const { home } = await savedHome();
    const broker = await home.open();
    const unused = listOf(broker.document, unusedList, unusedSchema, unusedRules);
    await unused.change((items) => [...items, { name: newItemName('s') }]);
    disk.fails = full;
    await refusal(unused.change(() => []));
    expect(unused.items).toHaveLength(1);
    expect(home.vault.items.get('newest')).not.toContain('held');
  });

  it('knows that something was taken away and not stored, until something is given', async () => {
    const { home, broker } = await savedHome();
    disk.fails = full;
    await refusal(broker.list.change(without('a')));
    disk.fails = undefined;
    const first = await home.start();
    expect([namesOf(first), first.document.isHeld]).toEqual([['a', 'b'], true]);
    await first.list.change(without('b'));
    const second = await home.start();
    expect(second.document.isHeld).toBe(true);
    await second.list.change(add({ name: 'c' }));
    expect(second.document.isHeld).toBe(false);
    expect((await home.start()).document.isHeld).toBe(false);
  });
});
