/** Pending revocations: tried again automatically, also after restarts, for all remaining tokens, and not for ever. */
import { beforeEach, describe, expect, it } from 'vitest';
import { RevocationQueue } from '../../../src/broker/revocation/revocation-queue.ts';
import { revokeSignIn } from '../../../src/broker/revocation/revoker.ts';
import { oddServer, type OddServer } from '../odd-server.ts';
import { brokerRig, type Rig, signedInRig, usedRig } from '../rig.ts';
import { getIfAny } from '../../../src/vault/base/vault.ts';
import { lastingSite } from '../places.ts';

const site = lastingSite();

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];

let server: OddServer;
beforeEach(() => {
  server = oddServer(site, { scopesSupported: ['read'] });
});

/** Revoked while the server was in trouble; its tokens are refresh-1 and access-1. */
async function pending(headers: Record<string, string> = {}): Promise<Rig> {
  const rig = await usedRig(server);
  down(headers);
  expect((await revokeSignIn(rig.parts, rig.signIn())).receipt).toBe('pending');
  return rig;
}

function down(headers: Record<string, string> = {}): void {
  site.lay('/revoke', { status: 503, headers });
  site.asked.length = 0;
}

function up(): void {
  site.lay('/revoke', { status: 200 });
  site.asked.length = 0;
}

/** The tokens that the server was told to end, in order. */
const told = (): (string | null)[] => forms().map((form) => form.get('token'));

const forms = (): URLSearchParams[] =>
  site.asked.filter(({ path }) => path === '/revoke').map(({ body }) => new URLSearchParams(body));

/** The queue of a broker whose vault has answered already, and what was due at once is done. */
async function openQueue(rig: Rig): Promise<RevocationQueue> {
  const queue = new RevocationQueue(rig.parts);
  queue.answered();
  await queue.settled();
  return queue;
}

async function itemOf(rig: Rig): Promise<string | undefined> {
  const { item } = rig.signIn();
  return item === undefined ? undefined : getIfAny(rig.vault, item);
}

function stateOf(rig: Rig) {
  const { state } = rig.signIn();
  if (state.kind !== 'revoked') throw new Error(`it is ${state.kind}`);
  return state;
}

describe('a pending revocation', () => {
  it('is tried again by itself, after pauses that grow from a minute to six hours', async () => {
    const rig = await pending();
    const queue = await openQueue(rig);
    let before = forms().length;
    for (const longest of [2, 4, 8, 16, 32, 64, 128, 256, 360, 360].map((minutes) => minutes * minute)) {
      const wait = (stateOf(rig).nextTryAt ?? 0) - rig.clock.now();
      expect(wait).toBeGreaterThanOrEqual(longest * 0.75);
      expect(wait).toBeLessThanOrEqual(longest);
      rig.clock.advance(wait - 1);
      await queue.look();
      expect(forms()).toHaveLength(before);
      rig.clock.advance(1);
      await queue.look();
      expect(forms().length).toBeGreaterThan(before);
      before = forms().length;
    }
    up();
    rig.clock.advance(6 * hour);
    await queue.look();
    // The access token was over long before.
    expect(told()).toEqual(['refresh-1']);
    expect(rig.signIn()).toMatchObject({ state: { receipt: 'confirmed' }, hasRefreshToken: false });
    expect(await itemOf(rig)).toBeUndefined();
  });

  it('is tried at once after wake-up or reconnection, unless the server asked to wait', async () => {
    const rig = await pending();
    const queue = await openQueue(rig);
    up();
    await queue.look();
    expect(told()).toEqual([]);
    down();
    const early = queue.retryAll();
    const late = queue.retryAll();
    await early;
    // Before anything else runs: what was asked while the first tries were under way comes after them.
    up();
    await late;
    expect(stateOf(rig).receipt).toBe('confirmed');

    const asked = await pending({ 'retry-after': '7200' });
    up();
    await (await openQueue(asked)).retryAll();
    expect(told()).toEqual([]);
  });

  it('waits as long as the server asked, over a restart too', async () => {
    const rig = await pending({ 'retry-after': '7200' });
    up();
    const again = await brokerRig(server, { after: rig });
    const queue = await openQueue(again);
    again.clock.advance(2 * hour - minute);
    await queue.look();
    expect(told()).toEqual([]);
    again.clock.advance(minute);
    await queue.look();
    expect(stateOf(again).receipt).toBe('confirmed');
  });

  it('makes no call to a vault that is not open, or that is in trouble', async () => {
    const rig = await pending();
    up();
    const again = await brokerRig(server, { after: rig });
    const queue = new RevocationQueue(again.parts);
    let reads = 0;
    const read = again.vault.get.bind(again.vault);
    again.vault.get = (id) => {
      reads += 1;
      return read(id);
    };
    again.clock.advance(day);
    await queue.look();
    expect(reads).toBe(0);
    queue.answered();
    queue.failed();
    await queue.settled();
    const first = reads;
    again.clock.advance(day);
    await queue.look();
    expect(reads).toBe(first);
    queue.answered();
    await queue.look();
    expect(stateOf(again).receipt).toBe('confirmed');
  });

  it('is given up 30 days after the sign-in ended, and its tokens are deleted', async () => {
    const rig = await pending();
    const queue = await openQueue(rig);
    rig.clock.advance(30 * day - 1);
    await queue.look();
    expect(stateOf(rig).receipt).toBe('pending');
    expect(await itemOf(rig)).toContain('refresh-1');
    rig.clock.advance(6 * hour);
    await queue.look();
    expect(rig.signIn()).toMatchObject({ state: { receipt: 'abandoned' }, hasRefreshToken: false });
    expect(await itemOf(rig)).toBeUndefined();
    site.asked.length = 0;
    rig.clock.advance(day);
    await queue.look();
    expect(told()).toEqual([]);
  });

  it.each([true, false])(
    'is owed still if the user signs in again; the server is back: %s',
    async (isBack) => {
      const rig = await pending();
      const queue = await openQueue(rig);
      if (isBack) up();
      await rig.login();
      // Before the new tokens, since some servers would end those too.
      expect(told()).toContain('refresh-1');
      if (!isBack) up();
      rig.clock.advance(day);
      await queue.look();
      expect(told()).toContain('refresh-1');
      expect(rig.signIn()).toMatchObject({ state: { kind: 'active' }, earlier: [] });
    },
  );
});

describe('the tokens that are still to be revoked at the server', () => {
  /** Signed in twice, the second time under another registration. */
  async function twice(): Promise<Rig> {
    const rig = await signedInRig(server);
    const [first] = rig.parts.registrations.all();
    if (!first) throw new Error('nothing was registered');
    await rig.parts.registrations.reject(first);
    site.lay('/register', { status: 201, body: { client_id: 'client-2' } });
    await rig.login();
    site.asked.length = 0;
    return rig;
  }

  it('tokens to revoke are each sent under the registration that they were issued to', async () => {
    const rig = await twice();
    expect((await revokeSignIn(rig.parts, rig.signIn())).receipt).toBe('confirmed');
    expect(forms().map((form) => [form.get('token'), form.get('client_id')])).toEqual([
      ['refresh-2', 'client-2'],
      ['refresh-1', 'client-1'],
      ['access-2', 'client-2'],
    ]);
  });

  it('only tokens not yet revoked are sent after an interrupted try', async () => {
    const rig = await twice();
    let answers = 1;
    site.lay('/revoke', () => ({ status: answers-- > 0 ? 200 : 503 }));
    expect((await revokeSignIn(rig.parts, rig.signIn())).receipt).toBe('pending');
    expect(told()).toEqual(['refresh-2', 'refresh-1']);
    up();
    const again = await brokerRig(server, { after: rig });
    await openQueue(again);
    expect(forms().map((form) => [form.get('token'), form.get('client_id')])).toEqual([
      ['refresh-1', 'client-1'],
      ['access-2', 'client-2'],
    ]);
    expect(stateOf(again).receipt).toBe('confirmed');
  });
});

describe('the time until which a token that was handed out may be valid', () => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const jwt = `${part({ alg: 'ES256' })}.${part({ sub: 'alice' })}.c2ln`;

  async function revoked(accessToken?: string): Promise<Rig> {
    if (accessToken !== undefined)
      server.answer = (_form, usual) => ({ ...usual, access_token: accessToken });
    const rig = await usedRig(server);
    return rig;
  }

  function liveFor({ parts, signIn, clock }: Rig): number {
    const until = signIn().liveUntil ?? parts.refresher.secrets.factsOf(signIn()).liveUntil ?? 0;
    return Math.max(0, until - clock.now());
  }

  it.each([
    ['signed, which no server needs to ask about', jwt],
    ['encrypted', `${part({ alg: 'dir', enc: 'A256GCM' })}..aXY.dGV4dA.dGFn`],
  ])('that is %s counts as valid until its expiry, even if the server confirmed', async (_what, token) => {
    const rig = await revoked(token);
    expect((await revokeSignIn(rig.parts, rig.signIn())).receipt).toBe('confirmed');
    expect(liveFor(rig)).toBe(hour);
  });

  it('is valid until its expiry if the server revokes only refresh tokens', async () => {
    const rig = await revoked();
    const refused = { status: 400, body: { error: 'unsupported_token_type' } };
    site.lay('/revoke', ({ body }) => (body.includes('access_token') ? refused : { status: 200 }));
    expect((await revokeSignIn(rig.parts, rig.signIn())).receipt).toBe('confirmed');
    expect(liveFor(rig)).toBe(hour);
  });
});

async function signedInOften(): Promise<Rig> {
  const rig = await brokerRig(server);
  for (let n = 0; n < 10; n += 1) await rig.login();
  site.asked.length = 0;
  return rig;
}

it('beyond eight earlier sign-ins the oldest is revoked and its item deleted', async () => {
  const rig = await signedInOften();
  const { earlier = [] } = rig.signIn();
  expect(earlier).toHaveLength(9);
  await openQueue(rig);
  expect(told()).toEqual(['refresh-1']);
  expect(rig.signIn()).toMatchObject({ state: { kind: 'active' }, earlier: earlier.slice(1) });
  expect(await getIfAny(rig.vault, earlier[0]?.item ?? '')).toBeUndefined();
  expect(await rig.vault.get(earlier[1]?.item ?? '')).toContain('refresh-2');
});

it('earlier sign-ins stay while their server fails, which is asked hours later', async () => {
  const rig = await signedInOften();
  site.lay('/revoke', { status: 503 });
  const queue = await openQueue(rig);
  await queue.look();
  expect(told()).toEqual(['refresh-1']);
  expect(rig.signIn().earlier).toHaveLength(9);
  site.lay('/revoke', { status: 200 });
  rig.clock.advance(6 * 3_600_000);
  await queue.look();
  expect(told()).toEqual(['refresh-1', 'refresh-1']);
  expect(rig.signIn().earlier).toHaveLength(8);
});
