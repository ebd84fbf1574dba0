/** A child run's narrower token, at an authorization server that exchanges tokens (RFC 8693). */
import { describe, expect, it } from 'vitest';
import { revokeGrant } from '../../src/broker/revocation/revoker.ts';
import { json } from '../support/bent/answer.ts';
import type { Ground } from './ground.ts';
import { turnOfEvents } from '../broker/rig.ts';
import { enter, ground, refused, tokenRequests } from './ground.ts';

const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const minute = 60_000;

interface Delegated extends Ground {
  /** The child run asks for its token. */
  readonly ask: Ask;
  /** Another child run, with these scopes. */
  readonly delegate: (scope: readonly string[]) => Promise<Ask>;
}

type Ask = () => Promise<{ readonly accessToken: string; readonly scope: readonly string[] }>;

/** Who may exchange tokens: a client that the owner entered, one that registers itself, or nobody that does. */
type MayExchange = 'entered' | 'registered' | 'nobody';

/** `editor` reads and writes, and delegates the reading. */
async function delegated(mayExchange: MayExchange = 'entered'): Promise<Delegated> {
  const acceptsGrants = (types: readonly string[]): boolean =>
    mayExchange !== 'nobody' || !types.includes(tokenExchange);
  const all = await ground({ authorization: { acceptsGrants } });
  const { rig, authorizationServer } = all;
  if (mayExchange === 'entered') await enter(rig, authorizationServer);
  await rig.ask({ scope: ['read', 'write'] });
  const delegate = async (scope: readonly string[]): Promise<Ask> => {
    const { child } = await rig.broker.delegating.begin({
      clientId: 'editor',
      asker: {
        run: 'parent',
        look: () => ({ run: 'parent', verified: true, pid: 7, standing: () => 'same' }),
      },
      endpoint: rig.endpoint,
      scope,
      lifetime: 60 * minute,
      name: 'helper',
    });
    return async () => rig.ask({ clientId: child.id });
  };
  return { ...all, ask: await delegate(['read']), delegate };
}

describe('a delegated token', () => {
  it('a delegated token comes by an exchange of the program’s own one, and the refresh token is left alone', async () => {
    const { rig, authorizationServer, ask } = await delegated();
    const own = await rig.ask({ scope: ['read', 'write'] });
    const token = await ask();
    expect(token.scope).toEqual(['read']);
    expect(token.accessToken).not.toBe(own.accessToken);
    const exchanges = tokenRequests(authorizationServer, tokenExchange);
    expect(exchanges).toHaveLength(1);
    expect(Object.fromEntries(exchanges[0]?.form ?? [])).toMatchObject({
      subject_token: own.accessToken,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: rig.endpoint,
      scope: 'read',
    });
    expect((await ask()).accessToken).toBe(token.accessToken);
    expect(authorizationServer.counts).toMatchObject({ tokenExchanges: 1, refreshes: 0 });
  });

  it('a delegated token comes by an exchange too for a client that registered itself', async () => {
    const { authorizationServer, ask } = await delegated('registered');
    expect((await ask()).scope).toEqual(['read']);
    expect(authorizationServer.counts).toMatchObject({ tokenExchanges: 1, refreshes: 0 });
  });

  it('a delegated token is exchanged for a fresh one of the program', async () => {
    const { rig, authorizationServer, ask } = await delegated();
    await ask();
    rig.clock.advance(60 * minute - 1);
    authorizationServer.expireAccessTokens();
    expect((await ask()).scope).toEqual(['read']);
    expect(tokenRequests(authorizationServer, 'refresh_token').map(({ form }) => form.get('scope'))).toEqual([
      null,
    ]);
    expect(authorizationServer.counts.tokenExchanges).toBe(2);
  });

  it('a delegated token comes by a refresh where the server refuses the exchange, which is tried again after ten minutes', async () => {
    const { rig, authorizationServer, ask } = await delegated('nobody');
    expect((await ask()).scope).toEqual(['read']);
    const asked = (): number => tokenRequests(authorizationServer, tokenExchange).length;
    expect(asked()).toBe(1);
    for (const [waited, exchanges] of [
      [9, 1],
      [2, 2],
    ] as const) {
      rig.clock.advance(waited * minute);
      rig.parts.cache.dropGrant(rig.grant().id);
      expect((await ask()).scope).toEqual(['read']);
      expect(asked()).toBe(exchanges);
    }
  });

  it.each([
    ['of another type', { issued_token_type: 'urn:ietf:params:oauth:token-type:id_token' }],
    ['without a type', { issued_token_type: undefined }],
    ['with more scopes', { scope: 'read write' }],
    ['that is no bearer token', { token_type: 'N_A' }],
  ])('refuses an exchanged token %s, and takes one by a refresh', async (_what, bent) => {
    const { authorizationServer, ask } = await delegated();
    authorizationServer.bend.tokenAnswer = ({ body }, { form }) =>
      json(form.get('grant_type') === tokenExchange ? { ...body, ...bent } : body);
    expect((await ask()).scope).toEqual(['read']);
    expect(authorizationServer.counts).toMatchObject({ tokenExchanges: 1, refreshes: 1 });
  });

  it('revokes an exchanged token too that comes while the owner ends its grant', async () => {
    const { rig, authorizationServer, ask } = await delegated();
    const late = { token: '', revocation: Promise.resolve<unknown>(undefined) };
    authorizationServer.bend.tokenAnswer = ({ body }, { form }) => {
      if (form.get('grant_type') === tokenExchange) {
        late.token = String(body['access_token']);
        late.revocation = revokeGrant(rig.parts, rig.grant());
      }
      return json(body);
    };
    await refused(ask());
    await late.revocation;
    const revoked = authorizationServer.server.asked('/revoke', 'POST').map(({ form }) => form.get('token'));
    expect(late.token).not.toBe('');
    expect(revoked).toContain(late.token);
  });

  it('sends no exchange that waited for its turn when the owner paused meanwhile', async () => {
    const { rig, authorizationServer, ask, delegate } = await delegated();
    const askToWrite = await delegate(['write']);
    const late = { request: Promise.resolve<unknown>(undefined) };
    authorizationServer.bend.tokenRequest = async ({ form }) => {
      if (form.get('grant_type') !== tokenExchange) return undefined;
      late.request = refused(askToWrite());
      await turnOfEvents();
      rig.parts.pause.begin({ since: rig.clock.wall() });
      return undefined;
    };
    await ask().catch(() => undefined);
    expect(await late.request).toMatchObject({ reason: 'paused' });
    expect(tokenRequests(authorizationServer, tokenExchange)).toHaveLength(1);
  });

  it('a program’s own narrower permission takes a refresh: only a delegation exchanges', async () => {
    const { rig, authorizationServer } = await delegated();
    await rig.allow('viewer', ['read']);
    expect((await rig.ask({ clientId: 'viewer', scope: ['read'] })).scope).toEqual(['read']);
    expect(authorizationServer.counts).toMatchObject({ tokenExchanges: 0, refreshes: 1 });
  });
});
