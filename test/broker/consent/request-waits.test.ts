/** How often an app may show the user a card. */
import { describe, expect, it } from 'vitest';
import { brokerRig, inWorld, refusal, turnOfEvents, type Rig } from '../rig.ts';
import { worldOfFile } from '../places.ts';

const world = worldOfFile();

const rig = (): Promise<Rig> => brokerRig(inWorld(world));

describe('the cards of an app after the answer `dismiss`', () => {
  const late = { reason: 'rate_limited', retryAfter: 1 };

  /** Puts off the card of a request, or takes the request back. */
  async function getsNoApproval({ ask, question, parts }: Rig, how: 'dismiss' | 'withdrawn'): Promise<void> {
    const app = new AbortController();
    const asked = refusal(ask({ signal: app.signal }));
    const { id } = await question('allow');
    if (how === 'dismiss') parts.approvalRequests.answer(id, 'dismiss');
    else app.abort();
    await asked;
  }

  async function until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await turnOfEvents();
  }

  it.each(['dismiss', 'withdrawn'] as const)('come after a pause that grows with each: %s', async (how) => {
    const r = await rig();
    for (const longest of [1000, 2000, 4000]) {
      await getsNoApproval(r, how);
      r.clock.advance(longest * 0.75 - 1);
      // Another server does not avoid the pause; another app isn't delayed.
      const elsewhere = r.ask({ resource: `${r.endpoint}/elsewhere` });
      expect(await refusal(elsewhere)).toHaveProperty(
        'hint',
        expect.stringContaining('allow the app yourself'),
      );
      r.clock.advance(longest * 0.25 + 1);
    }
    await getsNoApproval(r, how);
    const other = refusal(r.ask({ appId: 'agent' }));
    r.parts.approvalRequests.answer((await r.question('allow')).id, 'dismiss');
    expect(await other).toMatchObject({ reason: 'consent_required' });
    r.clock.advance(8000 + 300_001);
    await getsNoApproval(r, how);
    expect(await refusal(r.ask())).toMatchObject(late);
  });

  it('come after the shortest pause again once one was approved', async () => {
    const r = await rig();
    await getsNoApproval(r, 'dismiss');
    r.clock.advance(1000);
    const asked = r.ask();
    r.parts.approvalRequests.answer((await r.question('allow')).id, 'approve');
    await asked;
    const elsewhere = { resource: `${r.endpoint}/elsewhere` };
    const second = refusal(r.ask(elsewhere));
    r.parts.approvalRequests.answer((await r.question('allow')).id, 'dismiss');
    await second;
    expect(await refusal(r.ask(elsewhere))).toMatchObject(late);
  });

  it('come at once after a sign-in at the same server only', async () => {
    const r = await rig();
    const elsewhere = { resource: `${r.endpoint}/elsewhere` };
    await getsNoApproval(r, 'dismiss');
    await r.login(elsewhere);
    expect(await refusal(r.ask())).toMatchObject(late);
    await r.login();
    await getsNoApproval(r, 'dismiss');

    // About two servers: a sign-in at one of them says nothing about the other.
    const cards = [r.ask(), r.ask(elsewhere)].map(refusal);
    expect(await Promise.all(cards)).toMatchObject([late, late]);
    r.clock.advance(1000);
    const both = [r.ask(), r.ask(elsewhere)].map(refusal);
    await until(() => r.parts.approvalRequests.list().length === 2);
    for (const { id } of r.parts.approvalRequests.list()) r.parts.approvalRequests.answer(id, 'dismiss');
    await Promise.all(both);
    await r.login();
    expect(await refusal(r.ask())).toMatchObject({ reason: 'rate_limited' });
  });
});
