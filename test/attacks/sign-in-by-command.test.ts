/** Another program with the owner's key wants its own account or issuer behind what the user allowed. */
import { describe, expect, it } from 'vitest';
import { connectAsOwner } from '../../src/client/connect.ts';
import type { Connection } from '../../src/client/connection.ts';
import { methods, type ResultOf } from '../../src/ipc/protocol/methods.ts';
import { type BentHome, homeInBentWorld } from '../support/bent/home.ts';
import { type Desk, openDesk } from '../support/homes/desk-home.ts';
import { until } from '../support/home.ts';
import { ofTest } from '../support/lasting.ts';

type Question = ResultOf<'request.list'>['requests'][number];

async function openQuestions(connection: Connection): Promise<Question[]> {
  const answer = await connection.request('request.list');
  return methods['request.list'].result.parse(answer).requests;
}

/** A connection of another program, with the owner's key. */
async function attackerOf({ home }: Desk): Promise<Connection> {
  const connection = await ofTest(connectAsOwner({ env: home.env, paths: home.paths }));
  return connection;
}

/** The address that a browser ends at which signs in as somebody, from the address of the page. */
async function signedInAddress({ world }: BentHome, page: string): Promise<string> {
  const reply = await world.fetch(page, { redirect: 'manual' });
  return reply.headers.get('location') ?? '';
}

const notOurs = { reason: 'not_permitted' };

describe('the owner’s key while the app runs', () => {
  it('registers Keyturn again only in the sign-in that its card allowed', async () => {
    const there = await homeInBentWorld();
    const desk = await openDesk(there.home);
    const [attacker, other] = [await attackerOf(desk), await attackerOf(desk)];
    const own = desk.owner.call('signIn.start', { resource: there.url, method: 'paste' });
    const shown = await desk.card();
    const redirect = await signedInAddress(there, shown.url ?? '');
    await desk.owner.call('signIn.answer', { id: shown.id, redirect });
    await own;
    const started = attacker.request('signIn.start', { resource: there.url, method: 'paste' });
    started.catch(() => undefined);
    await desk.answer((await desk.card()).id, 'approve');
    const page = async (isNew: boolean) =>
      until('the page', async () =>
        (await openQuestions(attacker)).find(
          ({ kind, newClient = false }) => kind === 'signIn' && newClient === isNew,
        ),
      );
    const { id } = await page(false);
    await expect(other.request('signIn.answer', { id, isErrorPage: true })).rejects.toMatchObject(notOurs);
    await attacker.request('signIn.answer', { id, isErrorPage: true });
    await attacker.request('signIn.answer', { id: (await page(true)).id, isErrorPage: true });
    await expect(started).rejects.toMatchObject({ reason: 'client_rejected' });
    expect(there.authorizationServer.counts.registrations).toBe(2);
  });

  it('reads no address of the user’s sign-in, and can’t end it elsewhere', async () => {
    const there = await homeInBentWorld();
    const desk = await openDesk(there.home);
    const attacker = await attackerOf(desk);
    const signingIn = desk.owner.call('signIn.start', { resource: there.url, method: 'paste' });
    signingIn.catch(() => undefined);
    const shown = await desk.card();
    const seen = await until('the sign-in', async () => (await openQuestions(attacker))[0]);
    expect(seen).toMatchObject({ id: shown.id, kind: 'signIn', resource: there.url });
    expect(seen).not.toHaveProperty('url');
    // Even with the address, which it has by some other way.
    const redirect = await signedInAddress(there, shown.url ?? '');
    await expect(attacker.request('signIn.answer', { id: shown.id, redirect })).rejects.toMatchObject(
      notOurs,
    );
    expect(there.authorizationServer.counts.codesRedeemed).toBe(0);
    await desk.owner.call('signIn.answer', { id: shown.id, redirect });
    await signingIn;
  });

  it('learns no code of a sign-in on another device that somebody else started', async () => {
    const there = await homeInBentWorld({ authorization: { deviceAuthorization: true } });
    const desk = await openDesk(there.home);
    const attacker = await attackerOf(desk);
    const signingIn = desk.owner.call('signIn.start', { resource: there.url, method: 'device' });
    signingIn.catch(() => undefined);
    const { id, code = '' } = await desk.card();
    expect(code).not.toBe('');
    const seen = await openQuestions(attacker);
    expect(seen).toMatchObject([{ id, kind: 'device' }]);
    expect(seen[0]).not.toHaveProperty('code');
    expect(seen[0]).not.toHaveProperty('url');
    await desk.answer(id, 'deny');
    await expect(signingIn).rejects.toMatchObject({ reason: 'login_failed' });
  });

  it('joins no sign-in of another connection by asking for the same', async () => {
    const there = await homeInBentWorld();
    const desk = await openDesk(there.home);
    const request = { resource: there.url, method: 'paste' };
    const first = desk.line.request('signIn.start', request);
    first.catch(() => undefined);
    const asked = await desk.card();
    await desk.answer(asked.id, 'approve');
    const own = await until('the sign-in', async () =>
      (await openQuestions(desk.line)).find(({ kind }) => kind === 'signIn'),
    );
    expect(own.url).toContain('state=');
    const attacker = await attackerOf(desk);
    const second = attacker.request('signIn.start', request);
    second.catch(() => undefined);
    const card = await until('the second card', async () =>
      (await desk.cards()).find(({ kind }) => kind === 'command'),
    );
    await desk.answer(card.id, 'deny');
    await expect(second).rejects.toMatchObject({ reason: 'consent_denied' });
    expect(JSON.stringify(await openQuestions(attacker))).not.toContain('state=');
    const redirect = await signedInAddress(there, own.url ?? '');
    await desk.line.request('signIn.answer', { id: own.id, redirect });
    expect(await first).toMatchObject({ signIn: { state: 'active' } });
  });
});
