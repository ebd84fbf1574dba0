/** Where a request whose time is over sends the person: to the broker's own window, or to a command. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSite } from '../../oauth/site.ts';
import type { Site } from '../../oauth/site.ts';
import { oddServer } from '../odd-server.ts';
import { brokerRig, queued, refusal } from '../rig.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(async () => site.close());

const minute = 60_000;

describe.each([
  {
    isDesk: true,
    card: 'Answer in Keyturn’s window',
    page: 'Open it in Keyturn’s window',
    queue: 'Open the waiting one in Keyturn’s window',
  },
  {
    isDesk: false,
    card: 'Answer with: keyturn request approve',
    page: 'Finish it in the browser',
    queue: 'Finish the one that `keyturn request list` shows',
  },
])('a request that waited long enough, desk: $isDesk', ({ isDesk, card, page, queue }) => {
  it(`the hint of a request that waited long enough names a card: ${card}`, async () => {
    const rig = await brokerRig(oddServer(site, { scopesSupported: ['read'] }), { isDesk });
    const asked = refusal(rig.ask({ timeout: minute }));
    await rig.question('allow');
    rig.clock.advance(minute);
    expect(await asked).toMatchObject({
      reason: 'consent_pending',
      hint: expect.stringMatching(`^${card}`),
    });
  });

  it(`the hint of a request that waited long enough names a sign-in: ${page}; and one before it: ${queue}`, async () => {
    const server = oddServer(site, { scopesSupported: ['read'] });
    const rig = await brokerRig(server, { isDesk });
    rig.person.isThere = false;
    for (const endpoint of [server.endpoint, server.other]) await rig.allow('editor', undefined, endpoint);
    const first = refusal(rig.ask({ timeout: minute }));
    await rig.question('login');
    const second = refusal(rig.ask({ resource: server.other, timeout: minute }));
    await queued(rig);
    rig.clock.advance(minute);
    expect(await first).toMatchObject({ reason: 'login_pending', hint: expect.stringMatching(`^${page}`) });
    expect(await second).toMatchObject({
      reason: 'login_pending',
      hint: expect.stringMatching(`^${queue}`),
    });
  });
});
