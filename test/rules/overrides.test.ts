/** Exceptions: each breaks a MUST for one server, so each is off until the owner sets it, and shown where it is on. */
import { describe, expect, it } from 'vitest';
import { ground, parameter, refused, rigIn, tokenRequests, states, type Ground } from './ground.ts';
import { asClient, asOwner } from './wire.ts';

type Name = 'issuer-mismatch' | 'no-resource' | 'no-pkce-metadata' | 'audience';

const foreign = 'https://issuer.example';

/** What each server does wrong, and what we say to it without an exception. */
const errs: Readonly<Record<Name, { readonly reason: string; bend(all: Ground): void }>> = {
  'issuer-mismatch': {
    reason: 'issuer_mismatch',
    bend({ authorizationServer: { bend } }) {
      bend.metadata = (document) => ({ ...document, issuer: foreign });
      bend.authorizeResponse = (parameters) => parameters.set('iss', foreign);
    },
  },
  'no-resource': {
    reason: 'login_failed',
    bend({ authorizationServer: { bend, settings, issuer } }) {
      settings.resourceRequired = false;
      bend.authorizeError = ({ query }) => (query.has('resource') ? { error: 'invalid_target' } : undefined);
      bend.tokenRequest = ({ form }) =>
        form.has('resource') ? { status: 400, body: { error: 'invalid_target' } } : undefined;
      bend.accessTokenClaims = (claims) => ({ ...claims, aud: issuer });
    },
  },
  'no-pkce-metadata': {
    reason: 'pkce_unsupported',
    bend({ authorizationServer: { bend } }) {
      bend.metadata = ({ code_challenge_methods_supported: _left, ...document }) => document;
    },
  },
  audience: {
    reason: 'audience_mismatch',
    bend({ authorizationServer: { bend, settings } }) {
      settings.resourceRequired = false;
      settings.accessTokenFormat = 'jwt';
      bend.accessTokenClaims = (claims) => ({ ...claims, aud: 'https://other.example' });
    },
  },
};

const names = Object.keys(errs) as Name[];

/** The exceptions that each sign-in is listed with. */
async function listed({ rig }: Pick<Ground, 'rig'>): Promise<string[][]> {
  const { signIns } = (await asOwner(rig)('signIn.list')) as { signIns: { exceptions: string[] }[] };
  return signIns.map(({ exceptions }) => exceptions);
}

async function erring(
  name: Name,
): Promise<Ground & { readonly set: (on: boolean, server?: string) => Promise<unknown> }> {
  const all = await ground();
  errs[name].bend(all);
  const set = (on: boolean, server = all.protectedServer.url): Promise<unknown> =>
    asOwner(all.rig)('exception.set', { server, name, on });
  return { ...all, set };
}

describe.each(names)('the exception %s', (name) => {
  it('B-35 O-1 O-2 O-3 O-4: an exception is off by default: the server is refused', async () => {
    const { rig } = await erring(name);
    expect(await refused(rig.login())).toMatchObject({ reason: errs[name].reason });
    expect(rig.parts.signIns.all()).toEqual([]);
  });

  it.each(['server', 'issuer'])(
    'O-1 O-2 O-3 O-4 X-10: accepts this server once the owner set it for the %s, and is shown',
    async (what) => {
      const { rig, set, authorizationServer } = await erring(name);
      await set(true, what === 'issuer' ? authorizationServer.issuer : undefined);
      expect((await rig.ask()).accessToken).toBeTypeOf('string');
      expect(parameter(rig.pages[0], 'code_challenge_method')).toBe('S256');
      expect(parameter(rig.pages[0], 'code_challenge')).toMatch(/^[\w-]{43}$/);
      expect(tokenRequests(authorizationServer)[0]?.form.get('code_verifier')).toBeTruthy();
      expect(await listed({ rig })).toEqual([[name]]);
      await rig.parts.audit.flush();
      expect(rig.texts().join('')).toContain(`"outcome":"${name} on"`);
    },
  );

  it('an exception counts for refresh and after a restart', async () => {
    const { rig, set, restarted, authorizationServer } = await erring(name);
    await set(true);
    await rig.ask();
    const again = await restarted();
    expect((await again.ask({ interaction: 'never' })).accessToken).toBeTypeOf('string');
    expect(authorizationServer.counts.refreshes).toBe(1);
  });

  it('an exception waives no other rule', async () => {
    for (const other of names.filter((one) => one !== name)) {
      const { rig, protectedServer } = await erring(name);
      await asOwner(rig)('exception.set', { server: protectedServer.url, name: other, on: true });
      expect(await refused(rig.login())).toMatchObject({ reason: errs[name].reason });
    }
  });

  it('O-1 O-2 O-3 O-4: an exception counts for no other server', async () => {
    const { world, rig, set, authorizationServer } = await erring(name);
    const other = await world.openProtectedServer({ authorizationServers: [authorizationServer] });
    await set(true);
    expect(await refused(rig.login({ resource: other.url }))).toMatchObject({ reason: errs[name].reason });
  });

  it('O-1 O-2 O-3 O-4: only the owner sets an exception', async () => {
    const { rig, protectedServer } = await erring(name);
    const params = { server: protectedServer.url, name, on: true };
    expect(await refused(asClient(rig)('exception.set', params))).toMatchObject({ reason: 'not_permitted' });
    expect(rig.parts.exceptions.shown()).toEqual([]);
  });

  it('O-1 O-2 O-3 O-4: ends when it is switched off', async () => {
    const { rig, set } = await erring(name);
    await set(true);
    await rig.login();
    await set(false);
    expect(await refused(rig.login())).toMatchObject({ reason: errs[name].reason });
    expect(await listed({ rig })).toEqual([[]]);
  });
});

describe('an exception', () => {
  it('O-1: about the issuer lets the document’s own count from then on, for iss too', async () => {
    const { rig, set, authorizationServer } = await erring('issuer-mismatch');
    await set(true);
    expect((await rig.ask()).issuer).toBe(foreign);
    authorizationServer.bend.authorizeResponse = (parameters) =>
      parameters.set('iss', authorizationServer.issuer);
    expect(await refused(rig.login())).toMatchObject({ reason: 'issuer_mismatch' });
  });

  it('O-3: about PKCE metadata still refuses a list that lacks S256', async () => {
    const { rig, set, authorizationServer } = await erring('no-pkce-metadata');
    await set(true);
    states(authorizationServer, { code_challenge_methods_supported: ['plain'] });
    expect(await refused(rig.login())).toMatchObject({ reason: 'pkce_unsupported' });
  });

  it('O-2: about resource leaves it out of all three requests', async () => {
    const { rig, world, set, authorizationServer, protectedServer } = await erring('no-resource');
    await set(true);
    await rig.ask();
    const again = await rigIn(world, protectedServer.url, { after: rig });
    await again.ask();
    expect(parameter(rig.pages[0], 'resource')).toBeUndefined();
    expect(tokenRequests(authorizationServer).map(({ form }) => form.has('resource'))).toEqual([
      false,
      false,
    ]);
  });

  it('O-2: about resource still refuses a token that names another audience', async () => {
    const { rig, set, authorizationServer } = await erring('no-resource');
    authorizationServer.settings.accessTokenFormat = 'jwt';
    authorizationServer.bend.accessTokenClaims = (claims) => ({ ...claims, aud: 'https://other.example' });
    await set(true);
    expect(await refused(rig.ask())).toMatchObject({
      reason: 'audience_mismatch',
      hint: expect.stringContaining('exception remove'),
    });
  });

  it('O-4: about the audience may be set by the resource', async () => {
    const { rig, protectedServer } = await erring('audience');
    const { origin } = new URL(protectedServer.url);
    protectedServer.settings.resource = origin;
    const { hint = '' } = await refused(rig.login());
    expect(hint).toContain('audience, then: keyturn login URL');
    const [, server = ''] = /keyturn exception add (\S+) audience/.exec(hint) ?? [];
    expect(server).toBe(origin);
    await asOwner(rig)('exception.set', { server, name: 'audience', on: true });
    await rig.login();
    expect(await asOwner(rig)('signIn.list')).toMatchObject({
      signIns: [{ audience: 'other', exceptions: ['audience'] }],
    });
  });
});
