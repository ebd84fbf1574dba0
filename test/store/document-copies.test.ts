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
    await broker.document.confirm();
    home.vault.away = true;
    expect(await refusal(broker.document.confirm())).toMatchObject({ reason: 'vault_unavailable' });
    home.vault.away = false;
    const other = await home.start();
    await other.list.change(add({ name: 'x', denies: true }));
    expect(await refusal(broker.document.confirm())).toMatchObject({
      message: expect.stringContaining('another broker'),
    });
    expect(() => broker.list.items).toThrow('another broker');
  });
});
