/**
 * Another program of the same user writes, deletes or puts back what says where an API key goes and who may have it, or runs
 * the owner's commands.
 */
import { describe, expect, it } from 'vitest';
import { openDesk } from '../support/homes/desk-home.ts';
import { newHome } from '../support/home.ts';

const endpoint = 'https://tickets.example/mcp';
const value = 'ak_only-for-tickets';

describe('the owner’s key, in another program’s hands,', () => {
  const set = { resource: endpoint, header: 'X-Api-Key', value, unchecked: true } as const;
  const allow = { app: 'cli', resource: endpoint, decision: 'allow' } as const;

  it('gives no program the key that took the place of the one on the card', async () => {
    const { line, owner, card, answer } = await openDesk(newHome());
    await owner.call('apiKey.set', set);
    const allowing = line.request('apiKey.permission.set', allow);
    allowing.catch(() => undefined);
    const { id, ...shown } = await card();
    expect(shown).toMatchObject({
      command: 'allow',
      app: 'cli',
      resource: endpoint,
      apiKey: { header: 'X-Api-Key' },
    });
    await owner.call('apiKey.set', { ...set, header: 'Authorization', scheme: 'Bearer' });
    await answer(id, 'yes');
    await expect(allowing).rejects.toMatchObject({ reason: 'conflict' });
    expect(await owner.call('apiKey.list', {})).toMatchObject({ apiKeys: [{ apps: [] }] });
  });
});
