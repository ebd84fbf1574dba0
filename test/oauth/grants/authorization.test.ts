/** The authorization request, and the answer that a browser brings back. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { AuthorizationServer } from '../../../src/oauth/discovery/authorization-server.ts';
import {
  buildAuthorizationRequest,
  processAuthorizationResponse,
  type StartedAuthorization,
} from '../../../src/oauth/grants/authorization.ts';
import type { Registration } from '../../../src/oauth/client/registration.ts';
import { registrationAt, serverAt } from '../parties.ts';
import { everyWordOf, refusalOf } from '../refusal.ts';

const issuer = 'https://issuer.example';
const resource = 'https://server.example/mcp/';
const server = serverAt(issuer);
const registration = registrationAt(issuer);

const build = (changes: object = {}) =>
  buildAuthorizationRequest({ server, registration, resource, ...changes });

describe('buildAuthorizationRequest', () => {
  it('F-6 I-1 X-1: sends the parameters of the specification, and no others', async () => {
    const { url, started } = await build({ scope: ['a', 'b'] });
    const parameters = Object.fromEntries(new URL(url).searchParams);
    expect(parameters).toEqual({
      client_id: registration.clientId,
      response_type: 'code',
      redirect_uri: registration.redirectUri,
      state: started.state,
      code_challenge: createHash('sha256').update(started.codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource,
      scope: 'a b',
    });
    expect(started).toMatchObject({
      issuer,
      resource,
      redirectUri: registration.redirectUri,
      scope: ['a', 'b'],
    });
    expect(url).not.toContain(started.codeVerifier);
  });

  it('S-2: leaves out a scope that is empty, and sends a nonce only for an ID token', async () => {
    expect(new URL((await build({ scope: [] })).url).searchParams.has('scope')).toBe(false);
    expect((await build({ scope: ['a'] })).started.nonce).toBeUndefined();
    const { url, started } = await build({ scope: ['openid'] });
    expect(started.nonce).toBeTruthy();
    expect(new URL(url).searchParams.get('nonce')).toBe(started.nonce);
  });

  it("keeps the endpoint's own query, unless it sets a parameter of ours to another value", async () => {
    const at = (query: string) => ({
      server: { ...server, authorizationEndpoint: `${issuer}/authorize?${query}` },
    });
    const { searchParams } = new URL((await build(at(`tenant=1&constructor=x&resource=${resource}`))).url);
    expect(searchParams.get('tenant')).toBe('1');
    expect(searchParams.getAll('resource')).toEqual([resource]);
    const ours = ['client_id', 'redirect_uri', 'state', 'resource', 'code_challenge', 'response_type'];
    for (const name of ours) {
      expect((await refusalOf(() => build(at(`${name}=x`)))).reason).toBe('metadata_invalid');
    }
  });

  it('R-7: lets a loopback redirect differ in its port and in nothing else', async () => {
    const { started } = await build({ redirectUri: 'http://127.0.0.1:9/callback' });
    expect(started.redirectUri).toBe('http://127.0.0.1:9/callback');
    for (const redirectUri of [
      'http://127.0.0.1:9/other',
      `${registration.redirectUri}/more`,
      'http://localhost:9/callback',
      'https://127.0.0.1:9/callback',
      'http://server.example/callback',
    ]) {
      expect((await refusalOf(() => build({ redirectUri }))).reason).toBe('registration_failed');
    }
  });

  it('N-4: refuses a registration of another issuer', async () => {
    const other = { registration: registrationAt('https://other.example') };
    expect((await refusalOf(() => build(other))).reason).toBe('issuer_mismatch');
  });
});

const started: StartedAuthorization = {
  state: 'st4te',
  codeVerifier: 'verif1er',
  issuer,
  resource,
  redirectUri: registration.redirectUri,
};

const names: AuthorizationServer = { ...server, issParameterSupported: true };

function answer(query: string, at = server, scope?: string[]) {
  const url = new URL(`http://127.0.0.1/callback?${query}`);
  return processAuthorizationResponse({ ...started, scope }, at, url);
}

describe('processAuthorizationResponse', () => {
  it('finds the code in the authorization response', () => {
    expect(answer('code=c0de&state=st4te')).toEqual({ code: 'c0de' });
    expect(answer('code=c0de&state=st4te&iss=https%3A%2F%2Fissuer.example', names)).toEqual({ code: 'c0de' });
  });

  it.each([
    ['X-5: no state', 'code=c0de', 'state_mismatch'],
    ['X-5: an empty state', 'code=c0de&state=', 'state_mismatch'],
    ['X-5: another state', 'code=c0de&state=st4tex', 'state_mismatch'],
    ['X-5: a state in capitals', 'state=ST4TE', 'state_mismatch'],
    ['no state beside another issuer', 'code=c&iss=https://evil.example', 'state_mismatch'],
    ['N-2: an issuer without a scheme', 'code=c0de&state=st4te&iss=issuer.example', 'issuer_mismatch'],
    ['N-2: an escaped issuer', `code=c0de&state=st4te&iss=https://issuer%252eexample`, 'issuer_mismatch'],
    ['N-2: an issuer with a space', `code=c0de&state=st4te&iss=%20${issuer}`, 'issuer_mismatch'],
    ['X-6: two codes', 'code=c0de&code=c0de&state=st4te', 'login_failed'],
    ['X-6: an issuer twice', `code=c0de&state=st4te&iss=${issuer}&iss=${issuer}`, 'issuer_mismatch'],
    ['X-6: two issuers', `code=c&state=st4te&iss=${issuer}&iss=https://evil.example`, 'issuer_mismatch'],
    ['an error beside a code', 'error=access_denied&code=c0de&state=st4te', 'access_denied'],
    ['no code', 'state=st4te', 'login_failed'],
    ['an empty code', 'state=st4te&code=', 'login_failed'],
  ])('%s is refused', async (_what, query, reason) => {
    expect((await refusalOf(() => answer(query))).reason).toBe(reason);
  });

  it.each([
    ['one that differs in a slash', server, 'iss=https://issuer.example/'],
    ['an empty one', server, 'iss='],
    ['right, from a server that we did not start with', serverAt('https://evil.example'), `iss=${issuer}`],
  ])('B-25 N-2: refuses an answer whose issuer is %s', async (_what, at, query) => {
    const refusal = await refusalOf(() => answer(`code=c0de&state=st4te&${query}`, at));
    expect(refusal).toMatchObject({ reason: 'issuer_mismatch', rule: 'RFC 9207 §2.4' });
  });

  it.each([
    ['https://issuer.example/72f9-bf86/v2.0', undefined],
    ['https://issuer.example/{tenantid}/v2.0', 'issuer_mismatch'],
    ['https://issuer.example/a/b/v2.0', 'issuer_mismatch'],
    ['https://issuer.example//v2.0', 'issuer_mismatch'],
    ['https://issuer.example/v2.0', 'issuer_mismatch'],
    ['https://evil.example/72f9-bf86/v2.0', 'issuer_mismatch'],
  ])('takes %s for one of the tenants whose metadata states one issuer: %s', async (iss, reason) => {
    const common = serverAt(`${issuer}/{tenantid}/v2.0`);
    const url = new URL(`http://127.0.0.1/callback?code=c0de&state=st4te&iss=${iss}`);
    const work = () => processAuthorizationResponse({ ...started, issuer: common.issuer }, common, url);
    if (reason === undefined) expect(work()).toEqual({ code: 'c0de' });
    else expect((await refusalOf(work)).reason).toBe(reason);
  });

  it("X-9: distinguishes a denial from a failure, and quotes the server's text", async () => {
    const denial = await refusalOf(() => answer('error=access_denied&state=st4te'));
    expect(denial.reason).toBe('access_denied');
    const words = encodeURIComponent(`\u202e\n${'x'.repeat(999)}`);
    const query = `error=invalid_scope&error_description=${words}&error_uri=https://u.example&state=st4te`;
    const failure = await refusalOf(() => answer(query));
    expect(failure).toMatchObject({ reason: 'login_failed', hint: expect.stringContaining('scopes') });
    expect(failure.message).not.toMatch(/\u202e|\n|u\.example/);
    expect(failure.message.length).toBeLessThan(500);
    const openid = { ...server, scopesSupported: ['openid'] };
    for (const said of ['', '&error_description=openid+is+missing', '&error_description=no']) {
      const scope = said === '' ? ['read'] : undefined;
      const { hint } = await refusalOf(() => answer(`error=invalid_scope&state=st4te${said}`, openid, scope));
      expect(/"…"\. The .* ID token/.test(hint ?? ''), said).toBe(!said.endsWith('=no'));
    }
  });

  const forgotten = { source: 'dynamic' } as const;
  const document = { source: 'metadata_document' } as const;
  const both = 'the client sent no code_challenge';

  type Made = { source?: Registration['source']; isNewClient?: boolean; prompt?: string };
  it.each<[error: string, what: string, client: Made, description: string, reason: string]>([
    ['invalid_client', 'of any client', {}, '', 'client_rejected'],
    ['invalid_request', 'of a client that is forgotten', forgotten, '', 'client_rejected'],
    ['invalid_request', 'of a document', document, '', 'client_rejected'],
    ['invalid_request', 'that names the client', forgotten, 'unknown client_id', 'client_rejected'],
    ['invalid_request', 'of a new client', { ...forgotten, isNewClient: true }, '', 'login_failed'],
    ['invalid_request', 'of a client that was entered', {}, '', 'login_failed'],
    ['invalid_request', 'that names client and parameter', forgotten, both, 'login_failed'],
    ['invalid_request', 'beside a prompt', { ...forgotten, prompt: 'consent' }, '', 'login_failed'],
  ])('Y-1 Y-2: finds the cause of %s, %s', async (error, _what, client, description, reason) => {
    const { source = 'preregistered', ...more } = client;
    const made = await build({ registration: registrationAt(issuer, { source }), ...more });
    const words: Record<string, string> = description === '' ? {} : { error_description: description };
    const query = new URLSearchParams({ error, ...words, state: made.started.state }).toString();
    const url = new URL(`http://127.0.0.1/callback?${query}`);
    const refusal = await refusalOf(() => processAuthorizationResponse(made.started, server, url));
    expect(refusal.reason).toBe(reason);
    if (reason === 'client_rejected')
      expect(refusal.hint).toContain(`keyturn oauth-client add ${issuer} --client-id`);
  });

  it.each(['invalid_target', 'invalid_request&error_description=unknown+parameter:+resource'])(
    'names the exception that helps after %s',
    async (error) => {
      const refusal = await refusalOf(() => answer(`error=${error}&state=st4te`));
      expect(refusal.hint).toContain(`keyturn exception add ${issuer} no-resource, then: keyturn login URL`);
    },
  );

  it('X-9: repeats no secret of a sign-in in a refusal', async () => {
    for (const query of ['code=c0de', 'code=c0de&state=other', 'code=c0de&code=c0de&state=st4te']) {
      expect(everyWordOf(await refusalOf(() => answer(query)))).not.toMatch(/c0de|st4te|verif1er/);
    }
  });
});
