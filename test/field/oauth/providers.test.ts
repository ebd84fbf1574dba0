/** Sign-ins at servers that answer as providers do, by the one command of docs/reference/providers.md. Simulated from their public pages. */
import { describe, expect, it } from 'vitest';
import { type BentHomeOptions, homeInBentWorld, openSharedHome } from '../../support/bent/home.ts';
import type { Bends, Settings } from '../../support/bent/authorization-server.ts';
import { json, type RecordedRequest } from '../../support/bent/server.ts';
import { ofFile } from '../../support/lasting.ts';

const shared = ofFile(() => openSharedHome());

interface Provider {
  readonly settings: Partial<Settings> & { readonly issuerPath?: string };
  readonly bend?: Partial<Bends>;
  readonly secret?: string;
  readonly scope?: string;
  /** Which redirect URIs its pages for developers take. */
  readonly takes?: RegExp;
  /** What the command has to say that it waives. */
  readonly waives?: readonly string[];
}

const withoutPkce = (document: Readonly<Record<string, unknown>>): unknown => {
  const { code_challenge_methods_supported: _, ...rest } = document;
  return rest;
};

const refusesResource =
  (error: string, description: string) =>
  ({ query }: RecordedRequest) =>
    query.has('resource') ? { error, error_description: description } : undefined;

const byHand = { registration: 'absent', issInResponse: false, resourceRequired: false } as const;

const providers: Readonly<Record<string, Provider>> = {
  'Entra ID': {
    settings: { ...byHand, metadataAt: ['oidcAppended'], issuerPath: '/tenant/v2.0' },
    bend: {
      metadata: withoutPkce,
      authorizeError: refusesResource(
        'invalid_target',
        "AADSTS9010010: The resource parameter provided in the request doesn't match with the requested scopes.",
      ),
    },
    scope: 'api://notes/notes.read',
    takes: /^http:\/\/localhost:\d+\//,
    waives: ['says nothing of PKCE', 'takes no `resource` parameter'],
  },
  'Entra ID, an older refusal': {
    settings: { ...byHand, metadataAt: ['oidcAppended'], issuerPath: '/tenant/v2.0' },
    bend: {
      authorizeError: refusesResource(
        'invalid_request',
        "AADSTS901002: The 'resource' request parameter is not supported.",
      ),
    },
    scope: 'notes.read',
    waives: ['takes no `resource` parameter'],
  },
  Google: {
    settings: {
      ...byHand,
      metadataAt: ['oidc'],
      authMethods: ['client_secret_post', 'client_secret_basic'],
    },
    secret: 'of-a-desktop-app',
    scope: 'openid https://www.googleapis.com/auth/drive.readonly',
  },
  GitHub: {
    settings: {
      ...byHand,
      issuerPath: '/login/oauth',
      scopeSeparator: ',',
      accessTokenLifetime: undefined,
      refreshTokens: 'never',
    },
    secret: 'of-an-oauth-app',
    scope: 'repo read:org',
  },
  Okta: {
    settings: { ...byHand, metadataAt: ['oidcAppended'], issuerPath: '/oauth2/default' },
    scope: 'openid notes.read',
  },
  Cognito: {
    settings: { ...byHand, metadataAt: ['oidcAppended'], issuerPath: '/eu-central-1_abc' },
    bend: { metadata: withoutPkce },
    takes: /^http:\/\/localhost:/,
    waives: ['says nothing of PKCE'],
  },
  Slack: {
    settings: { ...byHand },
    takes: /^http:\/\/localhost:/,
  },
  Salesforce: { settings: { ...byHand, metadataAt: ['oidc'] }, scope: 'api refresh_token' },
};

describe.each(Object.entries(providers))(
  '%s',
  (_name, { settings, bend, secret, scope, takes, waives = [] }) => {
    it('the refusal prints what to register, and the command that signs in', async () => {
      const authorization: BentHomeOptions['authorization'] = settings;
      const { home, url, authorizationServer } = await homeInBentWorld({ shared, authorization });
      Object.assign(authorizationServer.bend, bend);
      const named = scope === undefined ? [] : ['--scope', scope];
      const refused = await home.keyturn(['login', url, ...named]);
      expect(refused).toMatchObject({
        code: 5,
        stderr: expect.stringContaining(`keyturn login ${url} --client-id ID`),
      });
      const [, redirectUri = ''] = /redirect URI (\S+)\. Then/.exec(refused.stderr) ?? [];
      expect(redirectUri).toMatch(takes ?? /^http:/);
      const { clientId } = authorizationServer.addClient({
        redirectUris: [redirectUri],
        ...(secret === undefined ? {} : { authMethod: 'client_secret_post' as const, secret }),
      });
      const login = ['login', url, ...named, '--client-id', clientId];
      const run = await home.keyturn(
        secret === undefined ? login : [...login, '--client-secret-stdin'],
        secret === undefined ? {} : { stdin: `${secret}\n` },
      );
      expect(run).toMatchObject({ code: 0 });
      for (const waived of waives) expect(run.stderr).toContain(waived);
      if (waives.length === 0) expect(run.stderr).not.toContain('keyturn exception');
      // Again, without the secret: the client that was entered stays as it is.
      expect(await home.keyturn(login)).toMatchObject({ code: 0 });
      await home.ok(['app', 'allow', 'cli', url]);
      expect(await home.keyturn(['token', url, '--no-input'])).toMatchObject({ code: 0 });
    });
  },
);

it('a sign-in at the error page of a mistyped client goes on with the right one', async () => {
  const { home, url, authorizationServer } = await homeInBentWorld({ shared, authorization: byHand });
  const refused = await home.keyturn(['login', url]);
  const [, redirectUri = ''] = /redirect URI (\S+)\. Then/.exec(refused.stderr) ?? [];
  const { clientId } = authorizationServer.addClient({ redirectUris: [redirectUri] });
  const waiting = await home.keyturn(['login', url, '--client-id', 'mistyped', '--timeout', '2s']);
  expect(waiting).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(`enter the client again: keyturn login ${url} --client-id ID`),
  });
  expect(await home.keyturn(['login', url, '--client-id', clientId])).toMatchObject({ code: 0 });
});

it('a server that names another issuer than its own is not waived in passing', async () => {
  const { home, url, authorizationServer } = await homeInBentWorld({ shared, authorization: byHand });
  authorizationServer.bend.metadata = (document) => ({ ...document, issuer: 'https://other.example' });
  const run = await home.keyturn(['login', url, '--client-id', 'abc']);
  expect(run).toMatchObject({ code: 5, stderr: expect.stringContaining('issuer_mismatch') });
  expect(await home.json('status')).not.toMatchObject({ exceptions: [{ server: url }] });
});

it('a device answer may call its page verification_url', async () => {
  const authorization = { deviceAuthorization: true };
  const { home, url, authorizationServer } = await homeInBentWorld({ shared, authorization });
  authorizationServer.bend.deviceAnswer = ({ body }) => {
    setTimeout(() => authorizationServer.approveDevice(String(body['user_code'])), 100);
    return json({
      ...body,
      verification_uri: undefined,
      verification_uri_complete: undefined,
      verification_url: body['verification_uri'],
    });
  };
  expect(await home.keyturn(['login', url, '--timeout', '15s', '--device'])).toMatchObject({ code: 0 });
});
