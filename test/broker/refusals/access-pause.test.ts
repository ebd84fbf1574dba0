/** The owner pauses all access: what the running broker refuses meanwhile, and when a pause is over. */
import { AccessPause } from '../../../src/broker/refusals/access-pause.ts';
import { describe, expect, it } from 'vitest';
import { apiKeyTarget } from '../../../src/broker/records/api-key.ts';
import { brokerRig, signedInRig, inWorld, refusal, turnOfEvents } from '../rig.ts';
import { worldOfFile } from '../places.ts';

const world = worldOfFile();

const hour = 3_600_000;

describe('a pause of all access', () => {
  it('refuses a token that is in memory, and says what to do and when it ends', async () => {
    const rig = await signedInRig(inWorld(world));
    await rig.ask();
    const { pause, clock } = rig.parts;
    pause.begin({ since: clock.wall() });
    expect(await refusal(rig.ask())).toMatchObject({
      reason: 'paused',
      message: 'You paused all access until you resume it.',
      hint: 'Resume with: keyturn resume',
      retryAfter: undefined,
    });
    pause.end();
    pause.begin({ since: clock.wall(), until: clock.wall() + hour });
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'paused', retryAfter: 3600 });
    rig.clock.advance(hour - 1);
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'paused', retryAfter: 1 });
    rig.clock.advance(1);
    await rig.ask();
  });

  it('withholds the token of a refresh that was under way', async () => {
    const rig = await signedInRig(inWorld(world));
    await rig.ask();
    rig.clock.advance(2 * hour);
    const { refreshes } = world.counts().authorizationServer;
    const asking = refusal(rig.ask());
    const { length } = rig.fetched;
    while (rig.fetched.length === length) await new Promise((resolve) => setImmediate(resolve));
    rig.parts.pause.begin({ since: rig.parts.clock.wall() });
    expect(await asking).toMatchObject({ reason: 'paused' });
    expect(world.counts().authorizationServer.refreshes).toBe(refreshes + 1);
    rig.parts.pause.end();
    await rig.ask();
    expect(world.counts().authorizationServer.refreshes).toBe(refreshes + 1);
  });

  it('keeps an API key from a program that waited for the vault', async () => {
    const rig = await brokerRig(inWorld(world));
    const { endpoint } = rig;
    const { apiKeys, pause, clock } = rig.parts;
    const key = await apiKeys.set({ endpoint, header: 'x-api-key' }, 'aKey', { setAt: 1 });
    await rig.allow('editor', [], apiKeyTarget(key));
    apiKeys.clear();
    const { signal } = new AbortController();
    const ask = { appId: 'editor', resource: endpoint, interaction: 'never', timeout: 6000, signal } as const;
    const asking = refusal(rig.broker.keyRequests.answer(ask));
    pause.begin({ since: clock.wall() });
    expect(await asking).toMatchObject({ reason: 'paused' });
    expect(await refusal(rig.broker.keyRequests.answer(ask))).toMatchObject({ reason: 'paused' });
    pause.end();
    expect(await rig.broker.keyRequests.answer(ask)).toMatchObject({ value: 'aKey' });
  });

  it('asks nobody and opens no page for a request that comes meanwhile', async () => {
    const rig = await brokerRig(inWorld(world));
    const { pause, clock, approvalRequests } = rig.parts;
    pause.begin({ since: clock.wall() });
    const asking = refusal(rig.ask({ interaction: 'allow' }));
    await turnOfEvents();
    expect(approvalRequests.list()).toEqual([]);
    expect(await asking).toMatchObject({ reason: 'paused' });
    const url = 'https://elsewhere.example/';
    const { endpoint } = rig;
    const shown = rig.broker.showUrl({
      appId: 'editor',
      resource: endpoint,
      url,
      message: '',
      signal: new AbortController().signal,
    });
    expect(await refusal(shown)).toMatchObject({ reason: 'paused' });
  });
});

it.each([
  ['a shorter one', 5, 10, 10],
  ['one with an end after one without', 5, undefined, undefined],
  ['a longer one', 20, 10, 20],
  ['one without an end', undefined, 10, undefined],
])('of two pauses the later end counts: %s shortens nothing', (_what, next, before, counts) => {
  const pause = new AccessPause(() => 1);
  pause.begin({ since: 1, until: before });
  expect(pause.begin({ since: 2, until: next })).toEqual({ since: 1, until: counts });
});
