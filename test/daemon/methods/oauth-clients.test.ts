/** The end of a client of ours at an issuer, by removal or by another in its place: none ends that a sign-in needs. */
import { expect, it } from 'vitest';
import { revokeSignIn } from '../../../src/broker/revocation/revoker.ts';
import { checkRegistration } from '../../../src/daemon/methods/registration-entry.ts';
import { enter, ground, refused } from '../../rules/ground.ts';
import { asOwner } from '../../rules/wire.ts';

const hour = 3_600_000;

/** Signed in by a client that was entered with a secret. */
async function signedIn() {
  const { rig, authorizationServer } = await ground();
  const { issuer } = authorizationServer;
  const secret = { authMethod: 'client_secret_basic' } as const;
  const entered = await enter(rig, authorizationServer, { clientSecret: 'first' }, secret);
  await rig.ask();
  const call = asOwner(rig);
  const set = (clientId: string, clientSecret: string) =>
    call('oauthClient.add', { issuer, clientId, clientSecret });
  const remove = () => call('oauthClient.remove', { issuer, clientId: entered.clientId });
  const ids = () => rig.parts.registrations.all().map(({ registration }) => registration.clientId);
  return { rig, authorizationServer, entered, set, remove, ids };
}

it('a client is not removed before its issuer was told of an ended sign-in', async () => {
  const { rig, authorizationServer, remove, ids } = await signedIn();
  const back = authorizationServer.server.on('*', '*', 'destroy');
  await revokeSignIn(rig.parts, rig.signIn());
  expect(await refused(remove())).toMatchObject({
    reason: 'conflict',
    message: expect.stringContaining('its authorization server is not reached yet'),
    hint: expect.stringContaining('They have ended here'),
  });
  back();
  await revokeSignIn(rig.parts, rig.signIn());
  expect(rig.signIn().state).toMatchObject({ receipt: 'confirmed' });
  await remove();
  expect(ids()).toEqual([]);
});

it('no client takes the place of another that a sign-in needs', async () => {
  const { rig, authorizationServer, set, ids } = await signedIn();
  const another = { issuer: authorizationServer.issuer, clientId: 'another' };
  // Before a card is shown, too.
  expect(() => checkRegistration(rig.parts, another)).toThrow('is still needed by');
  expect(await refused(set('another', 'other'))).toMatchObject({
    reason: 'conflict',
    message: expect.stringContaining(`is still needed by: "${rig.endpoint}" ("default").`),
    hint: expect.stringContaining(`keyturn logout ${rig.signIn().id}; then enter the other client.`),
  });
  expect(ids()).toEqual(['by-hand']);
  rig.clock.advance(hour);
  await rig.ask({ interaction: 'never' });
  await revokeSignIn(rig.parts, rig.signIn());
  await set('another', 'other');
  expect(ids()).toEqual(['another']);
});

it('a client keeps its sign-ins and its redirect URI if only its secret changes', async () => {
  const { rig, authorizationServer, entered, set, ids } = await signedIn();
  const [clientId, redirectUris] = ['by-hand', [entered.redirectUri]];
  authorizationServer.addClient({ clientId, redirectUris, secret: 'new', authMethod: 'client_secret_basic' });
  rig.clock.advance(hour);
  expect(await refused(rig.ask({ interaction: 'never' }))).toMatchObject({ reason: 'client_rejected' });
  expect(await set('by-hand', 'new')).toMatchObject({ redirectUri: entered.redirectUri });
  expect(ids()).toEqual(['by-hand']);
  await rig.ask({ interaction: 'never' });
});
