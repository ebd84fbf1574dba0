/** Sign-ins by the built command at authorization servers as people have them, from public reports. */
import { expect, it } from 'vitest';
import { json } from '../../support/bent/server.ts';
import { commandsAt } from '../commands.ts';

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const exp = Math.floor(Date.now() / 1000) + 600;
const device = { authorization: { deviceAuthorization: true } };

type Bend = Parameters<typeof commandsAt>[0];

const signsIn: readonly (readonly [string, Bend])[] = [
  [
    'a token answer without token_type',
    { tokenAnswer: ({ body }) => json({ ...body, token_type: undefined }) },
  ],
  [
    'an ID token that no check passes',
    {
      tokenAnswer: ({ body }) =>
        json({ ...body, id_token: `${part({ alg: 'HS256' })}.${part({ sub: 'u', iat: Date.now() })}.c2ln` }),
    },
  ],
  [
    'a firewall that dislikes 127.0.0.1 in a registration',
    {
      registrationAnswer: (answer, request) =>
        request.body.includes('127.0.0.1')
          ? { status: 403, body: '<html>Blocked</html>' }
          : json(answer.body, 201),
    },
  ],
];

it.each(signsIn)('signs in and gives a token in spite of %s', async (_what, bend) => {
  const { login, token } = await commandsAt(bend);
  expect(await login()).toMatchObject({ code: 0 });
  expect(await token()).toMatchObject({ access_token: expect.any(String) });
});

it('a device answer may call its page verification_url', async () => {
  const { login, authorizationServer } = await commandsAt(
    {
      deviceAnswer: ({ body }) => {
        setTimeout(() => authorizationServer.approveDevice(String(body['user_code'])), 100);
        return json({
          ...body,
          verification_uri: undefined,
          verification_uri_complete: undefined,
          verification_url: body['verification_uri'],
        });
      },
    },
    device,
  );
  expect(await login('--device')).toMatchObject({ code: 0 });
});

it('a token without a stated lifetime has no end, and one that knows its own has that', async () => {
  for (const [accessToken, end] of [
    ['opaque', undefined],
    [`${part({ alg: 'RS256' })}.${part({ exp })}.c2ln`, exp],
  ] as const) {
    const { login, token } = await commandsAt({
      tokenAnswer: ({ body }) =>
        json({ ...body, access_token: accessToken, expires_in: undefined, refresh_token: undefined }),
    });
    expect(await login()).toMatchObject({ code: 0 });
    expect((await token())['expires_at']).toBe(end);
  }
});

it('a URL with a query signs in, and the entry of a client keeps it', async () => {
  const { home, url } = await commandsAt({});
  const asked = `${url}?project_ref=abc&read_only=true`;
  expect(await home.keyturn(['login', asked, '--timeout', '15s'])).toMatchObject({ code: 0 });
  await home.ok(['app', 'allow', 'cli', url, '--for', '8h']);
  expect(await home.ok(['token', asked, '--no-input'])).toMatch(/\S/);
});

it('an error without state is told at once, and is the reason in the end', async () => {
  const { login } = await commandsAt({
    authorizeError: () => ({ error: 'invalid_scope' }),
    authorizeResponse: (parameters) => {
      parameters.delete('state');
    },
  });
  const { stderr } = await login('--timeout', '3s');
  expect(stderr.match(/an answer came without `state`: "invalid_scope"/g)).toHaveLength(1);
  expect(stderr).toContain('reason: login_failed');
});
