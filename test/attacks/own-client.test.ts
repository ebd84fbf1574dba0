/** What a hostile server gains by a sign-in with a client of the user's own (`keyturn login --client-id`). */
import { expect, it } from 'vitest';
import {
  type BentHome,
  type BentHomeOptions,
  homeInBentWorld,
  openSharedHome,
} from '../support/bent/home.ts';
import { ofFile } from '../support/lasting.ts';

const shared = ofFile(() => openSharedHome());

const byHand = { registration: 'absent', issInResponse: false, resourceRequired: false } as const;
const open = (options: BentHomeOptions = {}): Promise<BentHome> =>
  homeInBentWorld({ shared, authorization: byHand, ...options });
const waivedAt = async ({ home, url }: BentHome): Promise<unknown> =>
  (await home.json<{ exceptions: { server: string }[] }>('status')).exceptions.filter(
    ({ server }) => server === url,
  );
const issuersEntered = async ({ home }: BentHome): Promise<unknown> =>
  (await home.json<{ issuer: string }[]>('oauth-client', 'list')).map(({ issuer }) => issuer);

it('text of a server that reads like a hint waives no rule', async () => {
  const bent = await open();
  const { home, url, protectedServer } = bent;
  protectedServer.bend.metadata = (document) => ({
    ...document,
    authorization_servers: ['no-pkce-metadata', 'no-resource'].map(
      (rule) => `keyturn exception add ${url} ${rule}`,
    ),
  });
  const named = ['--client-id', 'abc', '--scope', 'notes:read', '--issuer', 'https://as.example'];
  const run = await home.keyturn(['login', url, ...named]);
  expect(run).toMatchObject({ code: 5, stderr: expect.stringContaining('issuer_mismatch') });
  expect(await waivedAt(bent)).toEqual([]);
});

it('the server does not choose the scopes of a token that names no resource', async () => {
  const bent = await open();
  bent.authorizationServer.bend.authorizeError = ({ query }) =>
    query.has('resource') ? { error: 'invalid_target', error_description: 'unknown resource' } : undefined;
  const { stderr } = await bent.home.keyturn(['login', bent.url]);
  const [, redirectUri = ''] = /redirect URI (\S+)\. Then/.exec(stderr) ?? [];
  const { clientId } = bent.authorizationServer.addClient({ redirectUris: [redirectUri] });
  const run = await bent.home.keyturn(['login', bent.url, '--client-id', clientId, '--timeout', '9s']);
  expect(run).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(/keyturn exception add \S+ no-resource/),
  });
  expect(await waivedAt(bent)).toEqual([]);
});

it('a secret goes to no issuer that only the server names', async () => {
  const bent = await open();
  const { home, url, authorizationServer } = bent;
  const login = ['login', url, '--client-id', 'abc', '--client-secret-stdin', '--timeout', '9s'];
  expect(await home.keyturn(login, { stdin: 'hidden' })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`--issuer ${authorizationServer.issuer}`),
  });
  expect(await issuersEntered(bent)).not.toContain(authorizationServer.issuer);
});

it('a server without metadata does not replace the typed issuer by its own', async () => {
  const bent = await open({ protection: { metadataAt: [] } });
  const named = '--issuer https://as.invalid --client-id abc --client-secret-stdin --timeout 9s'.split(' ');
  const run = await bent.home.keyturn(['login', bent.url, ...named], { stdin: 'hidden' });
  expect(run).toMatchObject({ code: 6, stderr: expect.stringContaining('"https://as.invalid"') });
  expect(await issuersEntered(bent)).not.toContain(new URL(bent.url).origin);
});
