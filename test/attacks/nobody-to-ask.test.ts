/** Where a user must be asked and nobody can, nothing is given: the questions with a time of their own. */
import { createSecretKey } from 'node:crypto';
import { expect, it } from 'vitest';
import { questionTimeout } from '../../src/broker/approval-requests/approval-requests.ts';
import type { Home } from '../../src/daemon/home/home.ts';
import { AppKeys } from '../../src/daemon/vault/app-keys.ts';
import { askAboutSettings } from '../../src/daemon/settings/settings-card.ts';
import { PairingQueue } from '../../src/ipc/server/pairing.ts';
import { brokerRig, refusal } from '../broker/rig.ts';
import { nowhere } from '../broker/nowhere.ts';

const never = new AbortController().signal;

it('a pairing is refused when its time is over', async () => {
  const { parts, clock, question } = await brokerRig(nowhere);
  const home = { homeId: 'A'.repeat(22) } as Home;
  const keys = new AppKeys({ ...parts, home, root: async () => createSecretKey(Buffer.alloc(32, 7)) });
  const desk = new PairingQueue({
    pair: (request) => keys.pair(request),
    now: () => clock.now(),
    after: (milliseconds, work) => {
      const off = new AbortController();
      clock.sleep(milliseconds, off.signal).then(work, () => undefined);
      return () => off.abort();
    },
  });
  const peer = { kind: 'unverified' } as const;
  const newApp = { name: 'reader', peer, peerNow: () => peer, isOpen: () => true };
  const asked = refusal(desk.ask(newApp, never, () => undefined));
  await question('pair');
  clock.advance(120_000);
  expect(await asked).toMatchObject({ reason: expect.any(String) });
  expect([parts.apps.all(), parts.approvalRequests.list()]).toEqual([[], []]);
});

it('settings that somebody wrote don’t count when the time of their card is over', async () => {
  const { parts, clock, question } = await brokerRig(nowhere);
  const different = [{ name: 'httpsProxy', value: 'http://proxy.example' }] as const;
  const asked = askAboutSettings(parts, { different: [...different], allowed: [] }, never);
  await question('settings');
  clock.advance(questionTimeout);
  expect(await asked).toBe('dismiss');
  expect(parts.approvalRequests.list()).toEqual([]);
});
