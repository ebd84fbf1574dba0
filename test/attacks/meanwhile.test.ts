/** Another program with the owner's key asks for what needs no yes, while the person's own decision is on its way. */
import { describe, expect, it } from 'vitest';
import { openDesk } from '../support/homes/desk-home.ts';
import { newHome } from '../support/home.ts';

const place = { app: 'cli', resource: 'https://server.invalid/mcp' };
const allow = { ...place, decision: 'allow' };

describe('what the person denies right after an unlock, while it is stored', () => {
  it.each([
    ['permission.end', place],
    ['permission.set', allow],
  ] as const)('is not undone by %s of the key', async (method, params) => {
    const desk = await openDesk(newHome({ vault: 'keychain' }));
    await desk.owner.call('permission.set', allow);
    await desk.line.request('vault.lock');
    await desk.owner.call('vault.unlock', {});
    const denying = desk.owner.call('permission.set', { ...place, decision: 'deny' });
    const undoing = desk.line.request(method, params);
    undoing.catch(() => undefined);
    // The denial is in effect at once, so the key has to ask.
    await desk.answer((await desk.card()).id, 'no');
    await expect(undoing).rejects.toMatchObject({ reason: 'consent_denied' });
    await denying;
    expect(await desk.permissions()).toEqual([{ resource: place.resource, decision: 'deny' }]);
  });
});
