/** `keyturn token`, as programs script it: the built command and broker against a real world over HTTPS. */
import { beforeAll, describe, expect, it } from 'vitest';
import { homeInWorld } from '../../support/home.ts';
import { commonHome } from '../../support/homes/common-home.ts';
import { questionOf } from '../../support/homes/ask-broker.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { useNotebook, verdictOn } from '../../support/servers/notebook.ts';

interface TokenJson {
  access_token: string;
  token_type: string;
  expires_in: number;
  expires_at: number;
  scope: string;
  resource: string;
  issuer: string;
  account: string;
  tokenId: string;
}

/** For the tests that need a usual token and leave it: somebody is signed in there, and the command line is allowed. */
const there = commonHome();
beforeAll(async () => {
  await owner.allow(there.home, 'cli', there.resource);
  await owner.signIn(there.home, there.resource);
});

describe('the way from 401 to 200', () => {
  it('the way from 401 to 200 is one permission and one sign-in, and then every program that runs the command has it', async () => {
    // The person comes to the page once the command has told of it: it says nothing of a page that is over already.
    const { home, world, resource } = await homeInWorld({ browser: 'true' });
    await expect(useNotebook(world, {})).rejects.toThrow();
    expect(world.counts().protectedServer.unauthorized).toBe(1);

    expect(await home.ok(['app', 'allow', 'cli', resource])).toBe('');
    const asking = home.start(['token', resource]);
    await asking.says(`sign in at ${new URL(world.authorizationServer.issuer).host} in your browser`);
    await world.signIn((await questionOf(home, 'signIn')).url ?? '');
    const first = await asking.ended;
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/^[\x21-\x7e]{20,}\n$/);
    expect(await useNotebook(world, { token: first.stdout.trim() })).toContain('alice');

    // A second run: from memory, in silence.
    expect(await home.keyturn(['token', resource])).toEqual({ code: 0, stdout: first.stdout, stderr: '' });
    expect(world.counts().authorizationServer).toMatchObject({
      signIns: 1,
      registrations: 1,
      codeExchanges: 1,
      refreshes: 0,
      serverErrors: 0,
    });
  });

  it('keyturn token gives the whole answer as JSON on request', async () => {
    const { home, world, resource } = there;
    const plain = await home.ok(['token', resource]);
    const text = await home.ok(['token', resource, '--json']);
    expect(text.endsWith('}\n')).toBe(true);
    const answer = JSON.parse(text) as TokenJson;
    expect(answer).toMatchObject({
      access_token: plain.trim(),
      token_type: 'Bearer',
      scope: 'notes:read',
      resource,
      issuer: world.authorizationServer.issuer,
    });
    expect(answer.expires_in).toBeGreaterThan(3000);
    expect(answer.expires_in).toBeLessThanOrEqual(3600);
    expect(answer.tokenId).not.toContain(answer.access_token);
  });
});

describe('a token that no longer serves', () => {
  it('a token that the protected server refused is replaced when it comes back on standard input', async () => {
    const { home, world, resource } = await there.newWorld();
    await owner.allow(home, 'cli', resource);
    const old = (await home.ok(['token', resource])).trim();
    world.expireAccessTokens();
    expect((await verdictOn(world, old)).status).toBe(401);

    const fresh = (
      await home.ok(['token', resource, '--rejected-token-stdin'], { stdin: `${old}\n` })
    ).trim();
    expect(fresh).not.toBe(old);
    expect((await verdictOn(world, fresh)).status).toBe(200);
    expect(world.counts().authorizationServer).toMatchObject({ refreshes: 1, signIns: 1 });

    // The old one once more: it isn't current any longer, so the newer one is simply given.
    const again = await home.ok(['token', resource, '--rejected-token-stdin'], { stdin: old });
    expect(again.trim()).toBe(fresh);
    expect(world.counts().authorizationServer.refreshes).toBe(1);

    // Three refusals of good tokens: the next one is not replaced for a while, and the broker says so.
    let held = fresh;
    for (let more = 0; more < 2; more += 1) {
      held = (await home.ok(['token', resource, '--rejected-token-stdin'], { stdin: held })).trim();
    }
    const paused = await home.keyturn(['token', resource, '--rejected-token-stdin'], { stdin: held });
    expect(paused).toMatchObject({ code: 5, stdout: '' });
    expect(paused.stderr).toContain(`${resource} refused several tokens that should have been valid.`);
    expect(paused.stderr).toMatch(/again in: \d+ s\n {2}reason: token_refused/);
    expect(world.counts().authorizationServer.refreshes).toBe(3);
  });

  it('a token that was just issued is not replaced, however large --min-validity is: it sets off no sign-in', async () => {
    const { home, world, resource } = there;
    const first = await home.ok(['token', resource]);
    expect(await home.ok(['token', resource, '--min-validity', '1m'])).toBe(first);
    // More than any token of this server has. Whether it is refreshed once depends on its age, by the clock.
    const other = await home.keyturn(['token', resource, '--min-validity', '120m', '--no-input']);
    expect((await verdictOn(world, other.stdout.trim())).status).toBe(200);
    expect(other.stderr).toMatch(
      /^keyturn: this token lives 3\d{3} s more, less than --min-validity asks for/,
    );
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshReuses: 0 });
  });
});

describe('scopes', () => {
  it('scopes grow by a step-up when a tool wants more, and keep what was there', async () => {
    const { home, world, resource } = await there.newWorld();
    await owner.allow(home, 'cli', resource);
    const narrow = (await home.ok(['token', resource])).trim();
    const { status, challenge } = await verdictOn(world, narrow, 'add-note');
    expect(status).toBe(403);

    const answer = JSON.parse(
      await home.ok(['token', resource, '--status', '403', '--challenge', challenge, '--json']),
    ) as TokenJson;
    expect(answer.scope.split(' ').toSorted()).toEqual(['notes:read', 'notes:write']);
    expect(await useNotebook(world, { token: answer.access_token }, 'add-note')).toContain('milk');
    expect(world.counts().authorizationServer).toMatchObject({ registrations: 1, codeExchanges: 2 });
  });

  it('keyturn token asks for scopes by name', async () => {
    const { home, world, resource } = await there.newWorld();
    await owner.allow(home, 'cli', resource);
    const token = await home.ok(['token', resource, '--scope', 'notes:read notes:write']);
    expect((await verdictOn(world, token.trim(), 'add-note')).status).toBe(200);
    expect(world.counts().authorizationServer.codeExchanges).toBe(1);
  });

  it('scopes stay within the permission, though the grant has more', async () => {
    const { home, world, resource } = await there.newWorld();
    await home.ok(['login', resource, '--scope', 'notes:read notes:write']);
    await home.ok(['app', 'allow', 'cli', resource, '--scope', 'notes:read']);
    const answer = JSON.parse(await home.ok(['token', resource, '--json'])) as TokenJson;
    expect(answer.scope).toBe('notes:read');
    expect((await verdictOn(world, answer.access_token)).status).toBe(200);
    expect((await verdictOn(world, answer.access_token, 'add-note')).status).toBe(403);

    const wide = await home.keyturn(['token', resource, '--scope', 'notes:write', '--no-input']);
    expect(wide).toMatchObject({ code: 3, stdout: '' });
    expect(wide.stderr).toContain('reason: consent_required');
  });
});
