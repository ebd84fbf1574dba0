/** Clients of ours that the server has forgotten, or refuses: replaced once in a sign-in, or told with the way out. */
import { describe, expect, it } from 'vitest';
import type { Question } from '../../src/broker/approval-requests/question.ts';
import { registeredAnswers } from '../../src/daemon/methods/oauth-clients.ts';
import { turnOfEvents, type Rig } from '../broker/rig.ts';
import type { BentAuthorizationServer } from '../support/bent/authorization-server.ts';
import { json } from '../support/bent/server.ts';
import { clientMetadataUrl, enter, followed, forgotten, ground, parameter, refused } from './ground.ts';
import { hour, takesDocuments, words } from './ground.ts';

/** The hint of a refusal that leads to a client that the user enters. */
const entering = ({ issuer }: { readonly issuer: string }): string =>
  expect.stringContaining(`keyturn oauth-client add ${issuer} --client-id`) as string;

/** From now on the token endpoint no longer knows this client. */
function forget({ bend }: BentAuthorizationServer, clientId: string | undefined): void {
  bend.tokenRequest = ({ form }) =>
    form.get('client_id') === clientId ? json({ error: 'invalid_client' }, 401) : undefined;
}

const inPlace = ({ parts }: Rig, { issuer }: { readonly issuer: string }): string | undefined =>
  parts.registrations.for(issuer, 0)?.registration.clientId;

describe('a registration that the server has forgotten', () => {
  it('B-4: is dropped and registered again once, with a second page', async () => {
    const { rig, authorizationServer } = await ground();
    await rig.login();
    forget(authorizationServer, parameter(rig.pages[0], 'client_id'));
    await rig.login();
    expect(rig.pages).toHaveLength(3);
    expect(authorizationServer.counts.registrations).toBe(2);
    await rig.login();
    expect(parameter(rig.pages[3], 'client_id')).toBe(parameter(rig.pages[2], 'client_id'));
  });

  it('B-4: is noticed by a refresh: the next sign-in registers again', async () => {
    const { rig, authorizationServer } = await ground();
    await rig.ask();
    forget(authorizationServer, parameter(rig.pages[0], 'client_id'));
    rig.clock.advance(hour);
    expect(await refused(rig.ask({ interaction: 'never' }))).toMatchObject({ reason: 'login_required' });
    expect(rig.signIn().state).toMatchObject({ kind: 'signInRequired' });
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
    expect(authorizationServer.counts.registrations).toBe(2);
    expect(rig.pages).toHaveLength(2);
  });
});

describe('a client that the server refuses in the redirect', () => {
  it.each(['invalid_client', 'unauthorized_client', 'invalid_request'] as const)(
    'Y-1 Y-2: by %s is made anew, with a second page, and used from then on',
    async (error) => {
      const { rig, authorizationServer } = await forgotten(error);
      expect((await rig.login()).state).toEqual({ kind: 'active' });
      expect(rig.pages).toHaveLength(3);
      expect(authorizationServer.counts.registrations).toBe(2);
      await rig.login();
      expect(parameter(rig.pages[3], 'client_id')).toBe(parameter(rig.pages[2], 'client_id'));
      expect(authorizationServer.counts.registrations).toBe(2);
    },
  );

  it('Y-1: stays until a sign-in with the new one has succeeded', async () => {
    const { rig, authorizationServer } = await forgotten('invalid_client');
    const old = parameter(rig.pages[0], 'client_id');
    authorizationServer.bend.authorizeError = () => ({ error: 'access_denied' });
    expect(await refused(rig.login())).toMatchObject({ reason: 'access_denied' });
    expect(inPlace(rig, authorizationServer)).toBe(old);
    authorizationServer.bend.authorizeError = undefined;
    await rig.login();
    expect(authorizationServer.counts.registrations).toBe(2);
    expect(inPlace(rig, authorizationServer)).toBe(parameter(rig.pages[2], 'client_id'));
  });

  it('Y-1: is registered again once in a sign-in: then the user may enter one', async () => {
    const { rig, authorizationServer } = await forgotten('invalid_client');
    authorizationServer.bend.authorizeError = () => ({ error: 'invalid_client' });
    expect(await refused(rig.login())).toMatchObject({
      reason: 'client_rejected',
      hint: entering(authorizationServer),
    });
    expect(rig.pages).toHaveLength(3);
    expect(authorizationServer.counts.registrations).toBe(2);
  });

  const places: readonly (readonly [string, (server: BentAuthorizationServer) => unknown])[] = [
    ['authorization', ({ bend }) => (bend.authorizeError = () => ({ error: 'invalid_client' }))],
    ['token', ({ bend }) => (bend.tokenRequest = () => json({ error: 'invalid_client' }, 401))],
  ];
  it.each(places)(
    'a client made a moment ago and refused at the %s endpoint is not made again',
    async (_place, refuse) => {
      const { rig, authorizationServer } = await ground();
      refuse(authorizationServer);
      const error = await refused(rig.ask());
      expect(error.reason).toBe('client_rejected');
      expect(words(error)).not.toMatch(/no longer/);
      expect(rig.pages).toHaveLength(1);
      expect(authorizationServer.counts.registrations).toBe(1);
    },
  );

  it.each(places)(
    'B-4 Y-1: an entered client that the %s endpoint refuses is never replaced',
    async (_place, refuse) => {
      const { rig, authorizationServer } = await ground();
      await enter(rig, authorizationServer);
      refuse(authorizationServer);
      expect(await refused(rig.ask())).toMatchObject({
        reason: 'client_rejected',
        hint: expect.stringContaining('keyturn oauth-client add'),
      });
      expect(rig.pages).toHaveLength(1);
      expect(authorizationServer.counts.registrations).toBe(0);
    },
  );
});

type LoginQuestion = Extract<Question, { readonly kind: 'signIn' }>;

/** The page that opens in the browser as number `count`, and the question beside it. */
async function shownPage({ parts, pages, visited }: Rig, count: number): Promise<LoginQuestion> {
  while (pages.length < count) await turnOfEvents();
  await visited();
  const [open] = parts.approvalRequests.list().map(({ question }) => question);
  if (open?.kind !== 'signIn') throw new Error('no sign-in waits');
  return open;
}

describe('a client whose page shows an error, since the server has forgotten it', () => {
  it('Y-5: is registered again if the user says so, and stays until that succeeds', async () => {
    const { rig, world, authorizationServer } = await forgotten();
    const login = rig.login();
    const first = await shownPage(rig, 2);
    expect(first.isNewClient).toBeUndefined();
    rig.person.isThere = false;
    first.showsError();
    const second = await shownPage(rig, 3);
    expect(second.isNewClient).toBe(true);
    expect(registeredAnswers(rig.parts).map(({ state }) => state)).toEqual([undefined, 'trial']);
    expect(inPlace(rig, authorizationServer)).toBe(parameter(rig.pages[0], 'client_id'));
    await followed(world, second.url);
    expect((await login).state).toEqual({ kind: 'active' });
    expect(inPlace(rig, authorizationServer)).toBe(parameter(rig.pages[2], 'client_id'));
    expect(authorizationServer.counts.registrations).toBe(2);
    const states = registeredAnswers(rig.parts).map(({ state }) => state);
    expect(states).toEqual(['replaced', undefined]);
    // The server said nothing against the old one, so that an answer at its place still counts as its issuer's.
    expect(rig.parts.registrations.all().map(({ isRejected }) => isRejected)).toEqual([undefined, undefined]);
  });

  it('Y-5: is registered again once: a second error ends the sign-in', async () => {
    const { rig, authorizationServer } = await forgotten();
    const login = refused(rig.login());
    rig.person.isThere = false;
    (await shownPage(rig, 2)).showsError();
    (await shownPage(rig, 3)).showsError();
    expect(await login).toMatchObject({ reason: 'client_rejected', hint: entering(authorizationServer) });
    expect(authorizationServer.counts.registrations).toBe(2);
    expect(inPlace(rig, authorizationServer)).toBe(parameter(rig.pages[0], 'client_id'));
  });

  it('Y-5: an entered client stays: the sign-in ends with the command for another', async () => {
    const { rig, authorizationServer } = await ground();
    await enter(rig, authorizationServer);
    rig.person.isThere = false;
    const asked = refused(rig.ask());
    (await shownPage(rig, 1)).showsError();
    const hint = entering(authorizationServer);
    expect(await asked).toMatchObject({ reason: 'client_rejected', hint });
    expect(await refused(rig.login({ isNewClient: true }))).toMatchObject({ reason: 'conflict', hint });
    expect(authorizationServer.counts.registrations).toBe(0);
  });
});

describe('a client ID metadata document that the server refuses', () => {
  const refusing = {
    ...takesDocuments,
    authorization: { clientIdMetadataDocuments: true, refusesDocuments: true },
  } as const;

  it.each(['invalid_client', 'invalid_request'] as const)(
    'Y-3: refused by %s in the redirect gives way to dynamic registration',
    async (unknownClients) => {
      const { rig, authorizationServer } = await ground({
        ...refusing,
        authorization: { ...refusing.authorization, unknownClients },
      });
      expect((await rig.ask()).accessToken).toBeTypeOf('string');
      await rig.login();
      const clients = rig.pages.map((page) => parameter(page, 'client_id'));
      expect(clients).toEqual([clientMetadataUrl, clients[1], clients[1]]);
      expect(authorizationServer.counts.registrations).toBe(1);
    },
  );

  it('Y-3: refused by the token endpoint gives way to dynamic registration', async () => {
    const { rig, authorizationServer } = await ground(takesDocuments);
    forget(authorizationServer, clientMetadataUrl);
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
    expect(rig.pages).toHaveLength(2);
    expect(authorizationServer.counts.registrations).toBe(1);
  });

  it('Y-3: names the command that enters a client if the server registers nobody', async () => {
    const { rig, authorizationServer } = await ground({
      ...refusing,
      authorization: { ...refusing.authorization, registration: 'absent', unknownClients: 'invalid_client' },
    });
    expect(await refused(rig.ask())).toMatchObject({
      reason: 'client_rejected',
      hint: entering(authorizationServer),
    });
    expect(rig.pages).toHaveLength(1);
  });
});
