/** Upstreams that publish no metadata, or answer in their own way. */
import { afterEach, expect, it } from 'vitest';
import { upstreamFormSchema } from '../../../src/server/third-party/upstream-forms.ts';
import { authorize, signIn, startFlow, type Bend, type Flow } from './rig.ts';

let flow: Flow;

afterEach(async () => flow.close());

async function start(
  form: NonNullable<Parameters<typeof startFlow>[1]>['form'],
  path: string,
  answer: (grant: string) => unknown,
  changes: Parameters<typeof startFlow>[1] = {},
): Promise<void> {
  flow = await startFlow(
    {},
    { ...(form ? { form } : {}), extraScopes: [], subjectOf: async () => 'alice', ...changes },
  );
  const { state } = flow.upstream;
  state.offers = { introspection: false, revocation: false, challengeMethods: undefined };
  const bend: Bend = {
    answer: (request) => {
      if (request.path !== path) return undefined;
      const grant = /refresh_token/.test(request.body) ? 'refresh_token' : 'authorization_code';
      const said = answer(grant);
      return typeof said === 'string'
        ? { type: 'application/x-www-form-urlencoded; charset=utf-8', text: said }
        : { type: 'application/json', text: JSON.stringify(said) };
    },
  };
  state.bend = bend;
}

const tokenFor = () => flow.upstream.state.requests.find(({ path }) => /token|access/.test(path));

it('an upstream like GitHub signs in with a form answer and commas between scopes', async () => {
  await start('github', '/access_token', () => 'access_token=gho&scope=read%2Cwrite&token_type=bearer');
  const { access, claims } = await signIn(flow, { scope: 'notes:read notes:write' });
  expect(claims['scope']).toBe('notes:read notes:write');
  flow.clock.ahead = 200;
  expect(await flow.call(access)).toBe(200);
  expect(flow.upstream.state.asked.has('resource')).toBe(false);
});

it.each([
  ['read:org', 'admin:org', 'admin:org'],
  ['public_repo', 'repo', 'gist,repo'],
])('an upstream like GitHub grants %s and %s as %s', async (read, write, scope) => {
  const scopes = { 'notes:read': [read], 'notes:write': [write] };
  await start('github', '/access_token', () => `access_token=gho&scope=${scope}`, { scopes });
  const { claims } = await signIn(flow, { scope: 'notes:read notes:write' });
  expect(claims['scope']).toBe('notes:read notes:write');
});

it('an upstream like a GitHub App has no scopes; a refused renewal ends the session', async () => {
  let count = 0;
  const said = (): string => {
    count += 1;
    const ends = `expires_in=60&refresh_token=ghr${count}&refresh_token_expires_in=15897600`;
    return count > 2
      ? 'error=bad_refresh_token'
      : `access_token=ghu${count}&${ends}&scope=&token_type=bearer`;
  };
  await start('github', '/access_token', said, { scopes: { 'notes:read': [], 'notes:write': [] } });
  const { access } = await signIn(flow);
  flow.clock.ahead = 100;
  expect(await flow.call(access)).toBe(200);
  expect(flow.upstream.state.requests.at(-1)?.authorization).toBe('Bearer ghu2');
  flow.clock.ahead = 200;
  expect(await flow.call(access)).toBe(401);
});

it.each([
  ['github', '/access_token', 'error=redirect_uri_mismatch', /\. Register <your issuer>/],
  [
    'slack',
    '/api/oauth.v2.access',
    { ok: false, error: 'bad_client_secret', access_token: 'x' },
    /Secret\.$/,
  ],
  ['notion', '/v1/oauth/token', { scope: 'read' }, /"access_token" property must be a string/],
] as const)(
  'an upstream like %s that answers 200 without a token is told',
  async (form, path, said, problem) => {
    await start(form, path, () => said);
    expect((await authorize(flow)).back.get('error')).toBe('server_error');
    expect(flow.events.at(-1)?.problem).toMatch(problem);
  },
);

it('an upstream like Slack gives the user’s own token', async () => {
  await start('slack', '/api/oauth.v2.access', (grant) => {
    if (grant === 'refresh_token') return { ok: false, error: 'invalid_refresh_token' };
    const person = { id: 'U1', scope: 'read,write', access_token: 'xoxp', token_type: 'user' };
    const ends = { refresh_token: 'xoxe', expires_in: 60 };
    return { ok: true, access_token: 'xoxb', token_type: 'bot', authed_user: { ...person, ...ends } };
  });
  const { access } = await signIn(flow);
  expect(await flow.call(access)).toBe(200);
  expect(flow.upstream.state.requests.at(-1)?.authorization).toBe('Bearer xoxp');
  flow.clock.ahead = 100;
  expect(await flow.call(access)).toBe(401);
});

it('an upstream like Atlassian gets JSON, and the newest refresh token each time', async () => {
  let count = 0;
  await start('atlassian', '/oauth/token', () => {
    count += 1;
    const token = { access_token: `a${count}`, refresh_token: `refresh_token-${count}` };
    return { ...token, expires_in: 60, scope: 'read', token_type: 'Bearer' };
  });
  const { access } = await signIn(flow);
  flow.clock.ahead = 100;
  expect(await flow.call(access)).toBe(200);
  flow.clock.ahead = 200;
  expect(await flow.call(access)).toBe(200);
  const sent = flow.upstream.state.requests.filter(({ path }) => path === '/oauth/token');
  const bodies = sent.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  expect(bodies.map((body) => body['refresh_token'])).toEqual([
    undefined,
    'refresh_token-1',
    'refresh_token-2',
  ]);
});

it('an upstream like Notion gets Basic and JSON, and gives no refresh token', async () => {
  const said = { access_token: 'ntn', token_type: 'bearer', refresh_token: null, bot_id: 'b' };
  const changes = { clientId: 'a-b.c', scopes: { 'notes:read': [], 'notes:write': [] } };
  await start('notion', '/v1/oauth/token', () => said, changes);
  expect(await flow.call((await signIn(flow)).access)).toBe(200);
  const [, pair = ''] = tokenFor()?.authorization?.split(' ') ?? [];
  expect(Buffer.from(pair, 'base64').toString()).toMatch(/^a-b\.c:the\+secret/);
  expect(JSON.parse(tokenFor()?.body ?? '')).toMatchObject({ grant_type: 'authorization_code', code: 'c' });
});

it('an upstream without PKCE is refused unless its form allows it', async () => {
  const token = { access_token: 't', token_type: 'bearer', scope: 'read' };
  await start(undefined, '/token', () => token);
  expect((await authorize(flow)).back.get('error')).toBe('server_error');
  await flow.close();
  await start({ pkce: false }, '/token', () => token);
  expect((await authorize(flow)).back.has('code')).toBe(true);
  expect(upstreamFormSchema.safeParse({ parameters: { state: 'x' } }).success).toBe(false);
});
