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
  /** One home for all, each with servers of its own; each test ends the exceptions that it began. */
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
    'B-35: %s decides whether a server is refused, and is shown while on',
    async (rule, reason, err) => {
      const there = await homeInBentWorld({ shared });
      const { home, url, authorizationServer } = there;
      const exceptionsOf = async (): Promise<unknown> =>
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
      expect(await exceptionsOf()).toEqual([rule]);
      expect(readFileSync(path.join(home.paths.state, 'audit.jsonl'), 'utf8')).toContain(`"${rule} on"`);

      await askBroker(home, 'exception.set', { server: url, name: rule, on: false });
      await expect(signIn(home, url)).rejects.toMatchObject({ reason });
      expect(await home.ok(['sign-in', 'list'])).not.toContain('exception');
      expect(await home.ok(['status'])).not.toContain('EXCEPTION');
    },
  );
});
