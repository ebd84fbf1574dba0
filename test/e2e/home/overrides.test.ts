/** Rules that the owner waived for one server: what each allows, and where it is shown. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ParamsOf } from '../../../src/ipc/protocol/methods.ts';
import { homeInBentWorld, openSharedHome, type SharedHome } from '../../support/bent/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { tellStoryOf } from '../../support/homes/common-home.ts';
import { signIn } from '../../support/homes/owner-acts.ts';

/** Metadata that says nothing about PKCE. */
function withoutPkce(document: Readonly<Record<string, unknown>>): unknown {
  return { ...document, code_challenge_methods_supported: undefined };
}

describe('an exception', () => {
  /** One home for all, each with servers of its own; each test ends the overrides that it began. */
  let shared: SharedHome;
  beforeAll(async () => {
    shared = await openSharedHome();
  });
  tellStoryOf(() => [shared.home]);
  afterAll(() => shared.close());

  /** Bends the metadata of the issuer. */
  type World = Awaited<ReturnType<typeof homeInBentWorld>>;
  const rules: readonly [ParamsOf<'exception.set'>['name'], string, (world: World) => void][] = [
    [
      'issuer-mismatch',
      'issuer_mismatch',
      ({ authorizationServer: { settings, bend, issuer } }) => {
        settings.issInResponse = false;
        bend.metadata = (document) => ({ ...document, issuer: `${issuer}/other` });
      },
    ],
    [
      'no-pkce-metadata',
      'pkce_unsupported',
      ({ authorizationServer: { bend } }) => {
        bend.metadata = withoutPkce;
      },
    ],
    [
      'no-resource',
      'login_failed',
      ({ authorizationServer: { settings, bend }, url }) => {
        settings.resourceRequired = false;
        bend.authorizeError = ({ query }) =>
          query.has('resource') ? { error: 'invalid_target' } : undefined;
        bend.accessTokenClaims = (claims) => ({ ...claims, aud: url });
      },
    ],
  ];

  it.each(rules)(
    'B-35: the override %s decides whether a server that errs is refused, and is shown while it is on',
    async (rule, reason, err) => {
      const there = await homeInBentWorld({ shared });
      const { home, url, authorizationServer } = there;
      const overridesOf = async (): Promise<unknown> =>
        (await askBroker(home, 'signIn.list', {})).signIns.find(({ resource }) => resource === url)
          ?.exceptions;
      err(there);
      const before = await home.keyturn(['login', url]);
      expect(before).toMatchObject({ code: 5, stdout: '' });
      expect(before.stderr).toContain(`reason: ${reason}`);

      expect(await home.ok(['exception', 'add', url, rule])).toBe('');
      await signIn(home, url);
      expect(authorizationServer.counts.codesRedeemed).toBe(1);
      const [visit] = authorizationServer.server.asked('/authorize').slice(-1);
      // Whatever is waived, PKCE is not.
      expect(visit?.query.get('code_challenge_method')).toBe('S256');
      expect(await home.ok(['sign-in', 'list'])).toContain(`active (exception ${rule})`);
      expect(await home.ok(['status'])).toContain(`EXCEPTION  ${url}: ${rule}\n`);
      expect(await overridesOf()).toEqual([rule]);
      expect(readFileSync(path.join(home.paths.state, 'audit.jsonl'), 'utf8')).toContain(`"${rule} on"`);

      await askBroker(home, 'exception.set', { server: url, name: rule, on: false });
      await expect(signIn(home, url)).rejects.toMatchObject({ reason });
      expect(await home.ok(['sign-in', 'list'])).not.toContain('exception');
      expect(await home.ok(['status'])).not.toContain('EXCEPTION');
    },
  );

  it('B-35: an exception counts for an issuer too, however its slash at the end is written, and ends for both', async () => {
    const there = await homeInBentWorld({ shared, authorization: { issuerPath: '/' } });
    const { home, url, authorizationServer } = there;
    authorizationServer.bend.metadata = withoutPkce;
    await home.ok(['exception', 'add', authorizationServer.issuer, 'no-pkce-metadata']);
    await signIn(home, url);
    const { signIns: grants } = await askBroker(home, 'signIn.list', {});
    expect(grants.find(({ resource }) => resource === url)).toMatchObject({
      exceptions: ['no-pkce-metadata'],
    });
    await home.ok(['exception', 'remove', authorizationServer.issuer.replace(/\/$/, ''), 'no-pkce-metadata']);
    expect(await home.ok(['status'])).not.toContain('EXCEPTION');
    await expect(signIn(home, url)).rejects.toMatchObject({ reason: 'pkce_unsupported' });
  });

  it('an exception confirms a private host however it is typed, and ends it for that host', async () => {
    const { home } = shared;
    const typed = ['tools.intern.example', 'fd00::1', 'https://TOOLS.intern.example.:8443/mcp'];
    for (const host of typed) await home.ok(['exception', 'add', host, 'private-address']);
    const lines = ['tools.intern.example', 'fd00::1'].map((host) => `EXCEPTION  ${host}: private-address\n`);
    const shown = await home.ok(['status']);
    expect(shown.split('\n').filter((line) => line.startsWith('EXCEPTION'))).toHaveLength(lines.length);
    for (const line of lines) expect(shown).toContain(line);
    await home.ok(['exception', 'remove', 'tools.intern.example:8443/mcp', 'private-address']);
    await askBroker(home, 'exception.set', {
      server: 'https://[fd00::1]',
      name: 'private-address',
      on: false,
    });
    expect(await home.ok(['status'])).not.toContain('EXCEPTION');
    expect(await home.keyturn(['exception', 'add', 'two words', 'private-address'])).toMatchObject({
      code: 2,
    });
  });

  it.each([
    ['a rule that there is none of', ['https://notes.example/mcp', 'no-pkce']],
    ['a word too many', ['https://notes.example/mcp', 'no-resource', 'on']],
    ['what is no server', ['notes', 'no-resource']],
  ])('keyturn exception add refuses %s', async (_what, args) => {
    expect(await shared.home.keyturn(['exception', 'add', ...args])).toMatchObject({ code: 2, stdout: '' });
  });
});
