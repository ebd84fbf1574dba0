/** Two brokers, one of them on a copy of the home: the one that the vault does not know any more ends what it serves. */
import { describe, expect, it } from 'vitest';
import { refusal } from '../broker/rig.ts';
import { add, savedHome, without } from './document-home.ts';

describe('another broker on a copy of the home', () => {
  it('ends what this one serves, once it has changed the document', async () => {
    const { home, broker } = await savedHome();
    const { text } = home;
    const other = await home.start();
    await other.list.change(without('a'));
    home.text = text;
    const error = expect.objectContaining({ message: expect.stringContaining('another broker') });
    expect(await refusal(broker.list.change(add({ name: 'c' })))).toEqual(error);
    expect(() => broker.list.items).toThrow(error);
    expect(broker.list.shown).toHaveLength(2);
    expect(await refusal(broker.list.change(without('b')))).toEqual(error);
    expect(home.text).toBe(text);
  });

  it('is noticed before a secret is used, too', async () => {
    const { home, broker } = await savedHome();
    await broker.document.requireNewest();
    home.vault.away = true;
    expect(await refusal(broker.document.requireNewest())).toMatchObject({ reason: 'vault_unavailable' });
    home.vault.away = false;
    const other = await home.start();
    await other.list.change(add({ name: 'x', denies: true }));
    expect(await refusal(broker.document.requireNewest())).toMatchObject({
      message: expect.stringContaining('another broker'),
    });
    expect(() => broker.list.items).toThrow('another broker');
  });

  it('is noticed in the middle of a change, and what it wrote stays', async () => {
    const { home, broker } = await savedHome();
    const write = home.vault.replace.bind(home.vault);
    const before = home.text;
    home.vault.replace = async (id, known, text) => {
      home.vault.replace = write;
      const mine = home.text;
      home.text = before;
      const other = await home.start();
      await other.list.change(without('a'));
      home.text = mine;
      return write(id, known, text);
    };
    const message = expect.stringContaining('another broker');
    expect(await refusal(broker.list.change(add({ name: 'evil' })))).toMatchObject({ message });
    expect(() => broker.list.items).toThrow('another broker');
    // The file has this broker's change, and the vault knows the other one.
    const next = await home.start();
    expect(() => next.list.items).toThrow('is not the newest one');
  });

  it('is not seen in a write of this one that comes through late', async () => {
    const { home, broker } = await savedHome();
    home.vault.writes = 'fails';
    await broker.list.change(without('a'));
    home.vault.writes = 'works';
    const { number, id } = JSON.parse(home.text) as { number: number; id: string };
    const write = home.vault.replace.bind(home.vault);
    home.vault.replace = async (name, known, text) => {
      home.vault.replace = write;
      home.vault.items.set('newest', JSON.stringify({ number, id }));
      return write(name, known, text);
    };
    await broker.list.change(add({ name: 'c' }));
    expect(broker.document.isOwed).toBe(false);
    expect((await home.start()).list.items).toHaveLength(2);
  });

  it('is refused as older beside items of its newer document, which stay', async () => {
    const { broker } = await savedHome();
    broker.document.requireAsNew(2);
    expect(() => broker.document.requireAsNew(3)).toThrow('is not the newest one');
    expect(() => broker.list.items).toThrow('is not the newest one');
  });
});
