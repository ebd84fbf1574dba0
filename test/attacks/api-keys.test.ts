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

  it('sets and allows no key without approval of server and header on a card', async () => {
    const { line, owner, card, answer } = await openDesk(newHome());
    const setting = line.request('apiKey.set', set);
    setting.catch(() => undefined);
    const shown = await card();
    expect(shown).toMatchObject({
      command: 'apiKey',
      resource: endpoint,
      apiKey: { header: 'X-Api-Key' },
      replaces: false,
      unchecked: true,
    });
    expect(JSON.stringify(shown)).not.toContain(value);
    await answer(shown.id, 'no');
    await expect(setting).rejects.toMatchObject({ reason: 'consent_denied' });
    expect(await owner.call('apiKey.list', {})).toEqual({ apiKeys: [] });
    await owner.call('apiKey.set', set);
  });

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

  it('ends no denial of a key without a yes, and gives none up', async () => {
    const { line, owner, card, answer } = await openDesk(newHome());
    await owner.call('apiKey.set', set);
    await owner.call('apiKey.permission.set', { ...allow, decision: 'deny' });
    const ending = line.request('apiKey.permission.end', { app: 'cli', resource: endpoint });
    ending.catch(() => undefined);
    const { id, ...shown } = await card();
    expect(shown).toMatchObject({ command: 'endDenial', app: 'cli', apiKey: { header: 'X-Api-Key' } });
    await answer(id, 'no');
    await expect(ending).rejects.toMatchObject({ reason: 'consent_denied' });
    const releasing = line.request('permission.release', { resource: endpoint, kinds: ['apiKey'] });
    await expect(releasing).rejects.toMatchObject({
      reason: 'not_permitted',
      hint: `The user ends both with: keyturn app revoke cli ${endpoint} --api-key`,
    });
    const asking = line.request('token.get', { resource: endpoint, kinds: ['apiKey'] });
    await expect(asking).rejects.toMatchObject({ reason: 'consent_denied' });
  });
});
