/** A client secret at servers that read HTTP Basic in their own way (RFC 6749 §2.3.1), and a private key that stays here. */
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { revokeSignIn } from '../../src/broker/revocation/revoker.ts';
import { json, type Answer, type RecordedRequest } from '../support/bent/server.ts';
import {
  askTwice,
  hour,
  enter,
  ground,
  refused,
  tokenRequests,
  states,
  type GroundOptions,
} from './ground.ts';

/** What the header of a request says, decoded no further than HTTP does; the body's secret where it holds one. */
function secretIn({ headers, form }: RecordedRequest): string {
  const basic = /^Basic (.+)$/.exec(headers.authorization ?? '')?.[1];
  if (basic === undefined) return `body ${form.get('client_secret')}`;
  return Buffer.from(basic, 'base64')
    .toString()
    .replace(/^[^:]*:/, '');
}

type Server = NonNullable<GroundOptions['authorization']>;

/** Registered dynamically, with a secret that this server generated. */
const registered = (secret: string, server: Server): Server => ({
  registeredAuthMethod: 'client_secret_basic',
  newSecret: () => secret,
  ...server,
});

const oddServers: readonly (readonly [string, Server, string, string])[] = [
  ['decodes nothing', registered('a+b%2Fc:d', { basicDecoding: 'none' }), 'a%2Bb%252Fc%3Ad', 'a+b%2Fc:d'],
  ['wants everything encoded', registered('a/b=~', { basicDecoding: 'strict' }), 'a/b=~', 'a%2Fb%3D%7E'],
];

describe('a client secret at a server that', () => {
  it.each(oddServers)('W-7: %s is sent in the other form once, which is remembered', async (...row) => {
    const [, authorization, usual, other] = row;
    const { rig, authorizationServer, restarted } = await ground({ authorization });
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
    expect(tokenRequests(authorizationServer).map(secretIn)).toEqual([usual, other]);
    rig.clock.advance(hour);
    await rig.ask();
    expect(tokenRequests(authorizationServer).map(secretIn)).toEqual([usual, other, other]);
    expect(rig.pages).toHaveLength(1);
    const again = await restarted();
    again.clock.advance(hour);
    await again.ask({ interaction: 'never' });
    await revokeSignIn(again.parts, again.signIn());
    const revoked = authorizationServer.server.asked('/revoke', 'POST').map(secretIn);
    expect(new Set(revoked)).toEqual(new Set([other]));
    expect(authorizationServer.counts).toMatchObject({
      registrations: 1,
      codesRedeemed: 1,
      codeReuses: 0,
      refreshes: 2,
      refreshReuses: 0,
    });
  });

  it('R-9: is sent in the body to a server that accepts nothing else', async () => {
    const { rig, authorizationServer } = await ground();
    await enter(rig, authorizationServer, { clientSecret: 's3cret' }, { authMethod: 'client_secret_post' });
    await askTwice(rig);
    const sent = tokenRequests(authorizationServer).map(secretIn);
    expect(sent).toEqual(['s3cret', 'body s3cret', 'body s3cret']);
  });

  const lacking: readonly (readonly [string, Answer])[] = [
    ['invalid_client', json({ error: 'invalid_client', error_description: 'Client ID does not match' }, 400)],
    [
      'unauthorized_client',
      json({ error: 'unauthorized_client', error_description: 'Missing client_id' }, 401),
    ],
    ['a list of faults', json({ errors: [{ path: ['clientId'], message: 'Required' }] }, 422)],
  ];
  it.each(lacking)('W-7: is sent again with the id in the body after %s', async (_name, answer) => {
    const { rig, authorizationServer } = await ground({ authorization: registered('s', {}) });
    authorizationServer.bend.tokenRequest = ({ form }) => (form.has('client_id') ? undefined : answer);
    await askTwice(rig);
    const sent = tokenRequests(authorizationServer);
    expect(sent.map(({ form }) => form.has('client_id'))).toEqual([false, true, true]);
    expect(sent.map(secretIn)).toEqual(['s', 's', 's']);
  });

  const ofOther: readonly (readonly [string, Answer])[] = [
    ...['invalid_grant', 'authorization_pending', 'slow_down', 'expired_token', 'access_denied'].map(
      (error) => [error, json({ error, error_description: 'for client_id x' }, 400)] as const,
    ),
    ['a page', { status: 400, body: '\n<meta name="google-signin-client_id">' }],
    ['a body that is too large', { status: 413, body: 'client_id' }],
  ];
  it.each(ofOther)(
    'B-6: a code is sent once after a refusal by %s about the client id',
    async (_name, answer) => {
      const { rig, authorizationServer } = await ground({ authorization: registered('s', {}) });
      authorizationServer.bend.tokenRequest = () => answer;
      await refused(rig.ask());
      expect(tokenRequests(authorizationServer).map(secretIn)).toEqual(['s']);
    },
  );

  it.each([
    ['a body of its own', json({ message: 'Unauthorized' }, 401)],
    ['no body', { status: 401 }],
  ] satisfies readonly (readonly [string, Answer])[])(
    'R-9: a client secret is sent in the body after a 401 with %s',
    async (_name, answer) => {
      const { rig, authorizationServer } = await ground();
      await enter(rig, authorizationServer, { clientSecret: 's' }, { authMethod: 'client_secret_post' });
      authorizationServer.bend.tokenRequest = ({ headers }) =>
        headers.authorization === undefined ? undefined : answer;
      await rig.ask();
      expect(tokenRequests(authorizationServer).map(secretIn)).toEqual(['s', 'body s']);
    },
  );

  it.each([
    ['none', 'body null'],
    [undefined, 's'],
  ])('R-9: is sent in the body to a server that misses it, after a registration with %s', async (...row) => {
    const [method, first] = row;
    const { rig, authorizationServer } = await ground({
      authorization: registered('s', { registeredAuthMethod: 'client_secret_post' }),
    });
    authorizationServer.bend.registrationAnswer = ({ body, status }) =>
      json({ ...body, token_endpoint_auth_method: method }, status);
    authorizationServer.bend.tokenRequest = ({ form }) =>
      form.has('client_secret') ? undefined : json({ message: 'Required parameter: client_secret' }, 422);
    await askTwice(rig);
    expect(tokenRequests(authorizationServer).map(secretIn)).toEqual([first, 'body s', 'body s']);
  });

  it('R-9: is sent in the header to a server that refuses the body', async () => {
    const { rig, authorizationServer } = await ground({ authorization: registered('s', {}) });
    authorizationServer.bend.registrationAnswer = (reply) =>
      json({ ...reply.body, token_endpoint_auth_method: 'client_secret_post' }, reply.status);
    await askTwice(rig);
    expect(tokenRequests(authorizationServer).map(secretIn)).toEqual(['body s', 's', 's']);
  });

  it('B-6: is not sent a third time to a server that refuses both forms', async () => {
    const { rig, authorizationServer } = await ground();
    await enter(
      rig,
      authorizationServer,
      { clientSecret: 'a/b' },
      { authMethod: 'client_secret_basic', secret: 'another' },
    );
    expect(await refused(rig.ask())).toMatchObject({ reason: 'client_rejected' });
    expect(tokenRequests(authorizationServer).map(secretIn)).toEqual(['a/b', 'a%2Fb']);
  });
});

it.each([
  ['invalid_grant', json({ error: 'invalid_grant' }, 400)],
  ['unauthorized_client', json({ error: 'unauthorized_client' }, 401)],
  ['a broken connection', 'destroy'],
] as const)('B-6: the second form of a client secret is not tried after %s', async (_what, answer) => {
  const { rig, authorizationServer } = await ground({
    authorization: registered('a+b', { basicDecoding: 'lenient' }),
  });
  authorizationServer.bend.tokenRequest = () => answer;
  await refused(rig.login());
  const codes = tokenRequests(authorizationServer).map(({ form }) => form.get('code'));
  expect(codes).toHaveLength(new Set(codes).size);
});

it('a second form that is an invalid request says nothing about the refresh token', async () => {
  const { rig, authorizationServer } = await ground({
    authorization: registered('a+b', { basicDecoding: 'lenient' }),
  });
  await rig.ask();
  let tries = 0;
  authorizationServer.bend.tokenRequest = () =>
    json({ error: (tries += 1) === 1 ? 'invalid_client' : 'invalid_request' }, 401);
  rig.clock.advance(hour);
  expect(await refused(rig.ask({ interaction: 'never' }))).toMatchObject({ reason: 'login_required' });
  expect(tries).toBe(2);
  expect(rig.signIn().state).toMatchObject({ why: expect.stringContaining('OAuth client') });
});

it('R-5: the private key of an entered client is in no other request', async () => {
  const { rig, world, authorizationServer } = await ground();
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = privateKey.export({ format: 'jwk' });
  await enter(
    rig,
    authorizationServer,
    { privateKey: JSON.stringify(jwk), alg: 'ES256' },
    { authMethod: 'private_key_jwt', jwk: publicKey.export({ format: 'jwk' }) },
  );
  await rig.ask();
  // A second issuer would like clients with keys as well; Keyturn registers there by itself.
  const second = await world.openAuthorizationServer();
  states(second, { token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'] });
  const other = await world.openProtectedServer({ authorizationServers: [second] });
  await rig.allow('editor', undefined, other.url);
  await rig.ask({ resource: other.url });
  const sent = second.server.asked('/register', 'POST').map(({ json: metadata }) => metadata);
  expect(sent).toMatchObject([{ token_endpoint_auth_method: 'none' }]);
  expect(sent[0]).not.toHaveProperty('jwks');
  const [exchange] = tokenRequests(authorizationServer);
  const assertion = exchange?.form.get('client_assertion') ?? '';
  const [header, claims] = assertion.split('.').map((part) => Buffer.from(part, 'base64url').toString());
  expect(header).toContain('"alg":"ES256"');
  expect(`${header}${claims}`).not.toContain(jwk.d);
  for (const { server } of [authorizationServer, second]) expect(server.holding(jwk.d ?? '')).toEqual([]);
});
