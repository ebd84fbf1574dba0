/** Client registration: four mechanisms in order, kept, reused, replaced, and never shown to another issuer. */
import { describe, expect, it, vi } from 'vitest';
import { documentRedirectUris } from '../../src/broker/destination/redirect.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { json } from '../support/bent/server.ts';
import type { AuthMethod } from '../support/bent/authorization-server.ts';
import { askTwice, clientMetadataUrl, enter, ground, occupy, parameter, refused } from './ground.ts';
import { states, stepUp, takesDocuments, tokenRequests } from './ground.ts';
import { ofTest } from '../support/lasting.ts';

describe('of the mechanisms', () => {
  it('B-15 R-1: of registration a client that the user entered comes first', async () => {
    const { rig, authorizationServer } = await ground(takesDocuments);
    const { clientId, redirectUri } = await enter(rig, authorizationServer);
    await rig.ask();
    expect(parameter(rig.pages[0], 'client_id')).toBe(clientId);
    expect(parameter(rig.pages[0], 'redirect_uri')).toBe(redirectUri);
    expect(authorizationServer.counts.registrations).toBe(0);
  });

  it('B-15 R-1 R-2: a client ID metadata document comes before dynamic registration', async () => {
    const { rig, authorizationServer } = await ground(takesDocuments);
    await rig.ask();
    expect(parameter(rig.pages[0], 'client_id')).toBe(clientMetadataUrl);
    expect(authorizationServer.counts.registrations).toBe(0);
    const [exchange] = tokenRequests(authorizationServer);
    expect(exchange?.form.get('client_id')).toBe(clientMetadataUrl);
    expect(exchange?.form.has('client_secret')).toBe(false);
  });

  it.each([undefined, false, 'true'])(
    'R-2: is not used if the metadata says %j instead of true',
    async (value) => {
      const { rig, authorizationServer } = await ground({ rig: { clientMetadataUrl } });
      states(authorizationServer, { client_id_metadata_document_supported: value });
      await rig.ask().catch(() => undefined);
      expect(rig.pages.map((page) => parameter(page, 'client_id'))).not.toContain(clientMetadataUrl);
    },
  );

  it('B-15 R-1: the last mechanism names the command that enters a client', async () => {
    const { rig } = await ground({ authorization: { registration: 'absent' } });
    expect(await refused(rig.ask())).toMatchObject({
      reason: 'registration_required',
      hint: expect.stringMatching(
        /redirect URI http:\/\/localhost:\d+\/.* Then: keyturn login \S+ --client-id ID/,
      ),
    });
    expect(rig.pages).toEqual([]);
  });
});

it('R-2: a client ID metadata document’s other port is used if the first is taken', async () => {
  const { rig } = await ground(takesDocuments);
  const asked: string[] = [];
  const taken = new KeyturnError('redirect_port_taken', 'It is taken.', {});
  const { loopback } = rig.parts;
  vi.spyOn(loopback, 'open').mockImplementation((uri = '') => {
    asked.push(uri);
    return Promise.reject(taken);
  });
  rig.person.isThere = false;
  const login = refused(rig.login());
  const { id } = await rig.question('signIn');
  expect(asked).toEqual([documentRedirectUris[0], documentRedirectUris[2]]);
  rig.parts.approvalRequests.answer(id, 'deny');
  await login;
});

describe('a dynamic registration', () => {
  it('N-6 R-6 R-7 R-8: is for a native public client with one concrete loopback port', async () => {
    const { rig, authorizationServer } = await ground();
    await rig.ask();
    const redirectUri = parameter(rig.pages[0], 'redirect_uri');
    expect(redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}\/callback$/);
    const [request] = authorizationServer.server.asked('/register', 'POST');
    expect(request?.json).toMatchObject({
      application_type: 'native',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    });
  });

  it('N-6 R-6: is kept and used again, with its port, after a restart', async () => {
    const { rig, restarted, authorizationServer } = await ground();
    await rig.login();
    const again = await restarted();
    await again.login();
    expect(authorizationServer.counts.registrations).toBe(1);
    for (const name of ['client_id', 'redirect_uri']) {
      expect(parameter(again.pages[0], name)).toBe(parameter(rig.pages[0], name));
    }
  });

  it('N-7: tries localhost if 127.0.0.1 is refused, and uses what was accepted', async () => {
    const { rig, authorizationServer } = await ground({
      authorization: {
        refusesRegistration: ({ redirect_uris: [uri = ''] }) =>
          uri.startsWith('http://localhost:') ? undefined : 'invalid_redirect_uri',
      },
    });
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
    expect(parameter(rig.pages[0], 'redirect_uri')).toMatch(/^http:\/\/localhost:\d+\/[\w-]{22}\/callback$/);
    expect(authorizationServer.server.asked('/register', 'POST')).toHaveLength(2);
  });

  it('N-7: tries a fixed port, at a path of its own, if no other is allowed', async () => {
    const first: { port?: string } = {};
    const { rig, authorizationServer } = await ground({
      authorization: {
        refusesRegistration: ({ redirect_uris: [uri = ''] }) =>
          new URL(uri).port === (first.port ??= new URL(uri).port) ? 'invalid_redirect_uri' : undefined,
      },
    });
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
    const used = parameter(rig.pages[0], 'redirect_uri');
    expect(used).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}\/callback$/);
    const { loopback } = rig.parts;
    const fixed = await ofTest(loopback.openFixed());
    expect(new URL(fixed.redirectUri).port).toBe(new URL(used ?? '').port);
    expect(fixed.redirectUri).not.toBe(used);
    expect(authorizationServer.server.asked('/register', 'POST')).toHaveLength(3);
  });

  it('R-6: names the scopes of permission and metadata', async () => {
    const { rig, protectedServer } = await ground({ authorization: { scopesByClient: true } });
    protectedServer.settings.scopesSupported = ['read', 'write'];
    expect((await rig.ask()).scope).toEqual(['read']);
    const token = await rig.ask({ scope: ['read', 'write'], ...stepUp('write') });
    expect(token.scope.toSorted()).toEqual(['read', 'write']);
  });

  it('R-6: asks for fewer grants if they are refused', async () => {
    const { rig, authorizationServer } = await ground({
      authorization: {
        deviceAuthorization: true,
        refusesRegistration: ({ grant_types }) =>
          grant_types.length > 1 ? 'invalid_client_metadata' : undefined,
      },
    });
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
    expect(authorizationServer.server.asked('/register', 'POST')).toHaveLength(3);
  });

  it('is made anew for scopes that it did not name', async () => {
    const { rig, authorizationServer } = await ground({ authorization: { scopesByClient: true } });
    await rig.ask();
    const token = await rig.ask({ scope: ['read', 'write'], ...stepUp('write') });
    expect(token.scope.toSorted()).toEqual(['read', 'write']);
    expect(authorizationServer.counts.registrations).toBe(2);
    await rig.login();
    expect(authorizationServer.counts.registrations).toBe(2);
  });

  it('for a scope that the server doesn’t know keeps the refresh token', async () => {
    const { rig, authorizationServer } = await ground({
      authorization: {
        refusesRegistration: ({ scope = 'read' }) =>
          scope === 'read' ? undefined : 'invalid_client_metadata',
      },
    });
    await rig.ask({ scope: ['raed'] });
    const last = authorizationServer.server.asked('/register', 'POST').at(-1);
    expect(last?.json).toMatchObject({ grant_types: ['authorization_code', 'refresh_token'] });
    expect(last?.json).not.toHaveProperty('scope');
  });

  it('whose secret has run out is made anew', async () => {
    let passed = 0;
    const { rig, authorizationServer } = await ground({
      authorization: { registeredAuthMethod: 'client_secret_basic', now: () => Date.now() + passed },
    });
    const soon = Math.floor(rig.clock.wall() / 1000) + 60;
    authorizationServer.bend.registrationAnswer = ({ body, status }) =>
      json({ ...body, client_secret_expires_at: soon }, status);
    await rig.login();
    // Its end is an instant of the server's clock: ours, set wrong, ends nothing.
    rig.clock.setWall(3_600_000);
    await rig.login();
    expect(authorizationServer.counts.registrations).toBe(1);
    rig.clock.advance(61_000);
    passed = 61_000;
    await rig.login();
    expect(authorizationServer.counts.registrations).toBe(2);
  });
});

it('R-7 R-8: the taken port of an entered client is reported, without registration', async () => {
  const { rig, authorizationServer } = await ground();
  const { redirectUri } = await enter(rig, authorizationServer);
  await occupy(redirectUri);
  expect(await refused(rig.ask())).toMatchObject({
    reason: 'redirect_port_taken',
    message: expect.stringContaining(new URL(redirectUri).port),
  });
  expect(authorizationServer.counts.registrations).toBe(0);
  expect(rig.pages).toEqual([]);
});

describe('at the token endpoint', () => {
  const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

  function usedMethod(request: ReturnType<typeof tokenRequests>[number] | undefined): AuthMethod {
    if (request?.headers.authorization?.startsWith('Basic ')) return 'client_secret_basic';
    if (request?.form.has('client_secret')) return 'client_secret_post';
    return request?.form.get('client_assertion_type') === assertionType ? 'private_key_jwt' : 'none';
  }

  it.each(['none', 'client_secret_basic', 'client_secret_post'] as const)(
    'B-18 F-4 R-5 R-9: obeys the method %s of a registration, also at refresh',
    async (method) => {
      const { rig, authorizationServer } = await ground({ authorization: { registeredAuthMethod: method } });
      await askTwice(rig);
      expect(tokenRequests(authorizationServer).map(usedMethod)).toEqual([method, method]);
      expect(authorizationServer.counts).toMatchObject({ refreshes: 1, refusals: 0 });
    },
  );

  it('B-19 X-4: a client secret is kept in the vault, and is in no file and no URL', async () => {
    const { rig, authorizationServer } = await ground({
      authorization: { registeredAuthMethod: 'client_secret_post' },
    });
    await rig.ask();
    await rig.parts.audit.flush();
    const [{ secret = '' } = {}] = authorizationServer.clients.values();
    expect(secret).not.toBe('');
    const [record] = rig.parts.registrations.all();
    expect(await rig.vault.get(record?.secret ?? '')).toBe(secret);
    for (const text of [...rig.texts(), ...rig.fetched, ...rig.pages]) expect(text).not.toContain(secret);
  });
});

it('N-4: nothing of a registration is used or shown at another issuer', async () => {
  const { rig, world, authorizationServer } = await ground({
    authorization: { registeredAuthMethod: 'client_secret_basic' },
  });
  await rig.ask();
  const second = await world.openAuthorizationServer();
  const other = await world.openProtectedServer({ authorizationServers: [second] });
  await rig.allow('editor', undefined, other.url);
  await rig.ask({ resource: other.url });
  expect(second.counts.registrations).toBe(1);
  for (const { clientId, secret = '-' } of authorizationServer.clients.values()) {
    expect(second.server.holding(clientId)).toEqual([]);
    expect(second.server.holding(`"${secret}"`)).toEqual([]);
  }
});
