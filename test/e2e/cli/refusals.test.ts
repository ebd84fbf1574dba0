/** Refusals: each exit code by a real cause; and input that is refused before anything starts. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { homeInWorld, newHome, until } from '../../support/home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { pairedProgram } from '../../support/processes/program.ts';
import { openWorld } from '../../support/world.ts';

const resource = 'https://notes.example/mcp';

describe('a malformed argument', () => {
  it.each([
    ['resource', ['token', 'notes']],
    ['resource of a permission', ['app', 'allow', 'cli', 'https://me:secret@notes.example/mcp']],
    ['scope', ['token', resource, '--scope', 'notes:"read"']],
    ['timeout', ['login', resource, '--timeout', 'soon']],
    ['command', ['tokens']],
  ])(
    'a malformed argument (%s) exits 2, prints nothing on stdout and starts nothing',
    async (_what, args) => {
      const home = newHome();
      const run = await home.keyturn(args);
      expect(run).toMatchObject({ code: 2, stdout: '' });
      expect(run.stderr).toContain('hint: ');
      expect(run.stderr).not.toContain('secret');
      expect(existsSync(home.folder)).toBe(false);
    },
  );
});

describe('exit code 5, by a rule or by the issuer', () => {
  it('exits 5 when the person says no at the issuer, once: no second page opens by itself', async () => {
    const { home, world, resource: url } = await homeInWorld({ person: '--deny' });
    await home.ok(['app', 'allow', 'cli', url]);
    const run = await home.keyturn(['token', url]);
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('reason: access_denied');

    const again = await home.keyturn(['token', url]);
    expect(again).toMatchObject({ code: 3, stdout: '' });
    expect(again.stderr).toContain('rule: Keyturn opens one sign-in page automatically');
    expect(world.counts().authorizationServer.signIns).toBe(1);
  });

  it('exits 5 when a server publishes no metadata', async () => {
    const { home, world } = await homeInWorld();
    const run = await home.keyturn(['login', `${world.authorizationServer.issuer}/nothing-here`]);
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toMatch(/rule: .*\n  read on: .*\n  hint: /);
  });
});

describe('exit code 6', () => {
  it('exits 6 when the protected server does not answer', async () => {
    const { home } = await homeInWorld();
    const gone = await openWorld();
    const url = gone.protectedServer.resource;
    await gone.close();
    await home.ok(['app', 'allow', 'cli', url]);
    const run = await home.keyturn(['token', url]);
    expect(run).toMatchObject({ code: 6, stdout: '' });
    expect(run.stderr).toContain('reason: protected_server_unreachable');
  });

  it('exits 6 when the issuer fails; once it is left alone for a while, all is well without another sign-in', async () => {
    const { home, world, resource: url } = await homeInWorld();
    await home.ok(['app', 'allow', 'cli', url]);
    const old = await home.ok(['token', url]);
    world.failTokenRequests(1);
    const run = await home.keyturn(['token', url, '--rejected-token-stdin'], { stdin: old });
    expect(run).toMatchObject({ code: 6, stdout: '' });
    expect(run.stderr).toContain('reason: authorization_server_unreachable');
    // A program of its own looks: the command would be a process each time.
    const program = await pairedProgram(home, 'editor');
    await owner.allow(home, 'editor', url);
    await until('it may be asked again', () =>
      program.getToken({ resource: url, interaction: 'never' }).then(
        () => true,
        () => false,
      ),
    );
    expect(await home.keyturn(['token', url])).toMatchObject({ code: 0 });
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshes: 1, tokenRequests: 3 });
  });
});

describe('exit code 8', () => {
  it('PROMISE-7: exits 8 when the home is no place for a broker', async () => {
    const home = newHome();
    mkdirSync(home.folder);
    writeFileSync(home.paths.state, 'a file where a folder should be');
    const run = await home.keyturn(['token', resource]);
    expect(run).toMatchObject({ code: 8, stdout: '' });
    expect(run.stderr).toContain('The broker could not be started');
    expect(run.stderr).toContain(`${home.paths.state}" is not a folder`);
    expect(run.stderr).toContain('reason: broker_unreachable');
    expect(readFileSync(home.paths.state, 'utf8')).toBe('a file where a folder should be');
  });

  it('exits 8 when a command only looks, and starts nothing', async () => {
    const home = newHome();
    const run = await home.keyturn(['status']);
    expect(run).toMatchObject({ code: 8, stdout: '' });
    expect(existsSync(home.folder)).toBe(false);
    expect(await home.keyturn(['broker', 'stop'])).toMatchObject({ code: 0, stdout: '' });
    expect(existsSync(home.folder)).toBe(false);
  });
});

describe('plain http', () => {
  it('plain http is refused on this machine too, unless the home was made for development', async () => {
    const url = 'http://127.0.0.1:9/mcp';
    const home = newHome();
    const refused = await home.keyturn(['app', 'allow', 'cli', url]);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('plain http');
    expect(await home.ok(['status'])).not.toContain('INSECURE');

    const development = newHome({ env: { KEYTURN_ALLOW_INSECURE_LOOPBACK: '1' } });
    await development.ok(['app', 'allow', 'cli', url]);
    expect(await development.ok(['status'])).toContain('INSECURE   http is accepted on loopback hosts');
    expect(await development.keyturn(['app', 'allow', 'cli', 'http://notes.example/mcp'])).toMatchObject({
      code: 2,
    });
  });
});
