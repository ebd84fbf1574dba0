/** Permissions and questions: what waits for the user, from which process it is answered, and how it ends. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { builtBin } from '../../support/built.ts';
import { until } from '../../support/home.ts';
import { type CommonHome, commonHome } from '../../support/homes/common-home.ts';
import { nothingIsAsked } from '../../support/homes/owner-acts.ts';
import { verdictOn } from '../../support/servers/notebook.ts';

const nothingWaits = { code: 0, stdout: '', stderr: 'Nothing waits for you.\n' };

async function permissionsOf({ ask }: CommonHome) {
  const { apps: clients } = await ask('app.list', {});
  return clients.flatMap(({ permissions }) => permissions);
}

const there = commonHome();
const { ask, onlyQuestion } = there;

// A sign-in of one test stays for the next one. A permission doesn't, nor does the pause after a withdrawn question,
// which a new permission ends.
afterEach(async () => {
  await ask('permission.set', { app: 'cli', resource: there.resource, decision: 'allow' });
  for (const { resource } of await permissionsOf(there)) {
    await ask('permission.end', { app: 'cli', resource });
  }
});

describe('a command’s request', () => {
  it('a command without a permission refuses at once when it may not ask, and says how to allow it', async () => {
    const { home, world, resource } = there;
    const run = await home.keyturn(['token', resource, '--no-input']);
    expect(run).toMatchObject({ code: 3, stdout: '' });
    expect(run.stderr).toContain('reason: consent_required');
    expect(run.stderr).toContain(`hint: Allow it with: keyturn app allow cli ${resource}`);
    // Invariant 11 (dev/internals.md): nothing is fetched for a resource before there is a permission for it.
    expect(world.counts().protectedServer.requests).toBe(0);
  });

  it('PROMISE-6: refuses what was denied, without a question and without a request', async () => {
    const { home, world, resource } = there;
    expect(await home.ok(['app', 'deny', 'cli', resource])).toBe('');
    const run = await home.keyturn(['token', resource]);
    expect(run).toMatchObject({ code: 4, stdout: '' });
    expect(run.stderr).toContain('rule: A denial is remembered until the user changes it');
    expect(world.counts().protectedServer.requests).toBe(0);
  });

  it('a command without a permission waits for an answer, which a second process gives', async () => {
    const { home, world, resource } = there;
    const asking = home.start(['token', resource]);
    const question = await onlyQuestion('allow');
    expect(question).toMatchObject({ app: 'cli', resource });
    expect(await home.ok(['request', 'list'])).toContain(`keyturn request approve ${question.id}`);
    expect(world.counts().protectedServer.requests).toBe(0);

    await home.ok(['request', 'approve', question.id]);
    expect(await asking.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+\n$/) });
    expect(await home.keyturn(['request', 'list'])).toEqual(nothingWaits);
    expect(await home.keyturn(['request', 'approve', question.id])).toMatchObject({ code: 2 });
  });

  it('a command’s question that got a no is not asked again until the user allows it', async () => {
    const { home, resource } = there;
    const asking = home.start(['token', resource]);
    await home.ok(['request', 'deny', (await onlyQuestion('allow')).id, '--remember']);
    const denied = await asking.ended;
    expect(denied).toMatchObject({ code: 4, stdout: '' });
    expect(denied.stderr).toContain('reason: consent_denied');

    // Once more: no question, the denial stands.
    expect(await home.keyturn(['token', resource])).toMatchObject({ code: 4, stdout: '' });
    await ask('permission.set', { app: 'cli', resource, decision: 'allow' });
    expect(await home.keyturn(['token', resource])).toMatchObject({ code: 0 });
  });

  it('the answer "later" to a command’s question counts neither as a yes nor as a no', async () => {
    const { home, resource } = there;
    const asking = home.start(['token', resource]);
    await home.ok(['request', 'deny', (await onlyQuestion('allow')).id]);
    expect(await asking.ended).toMatchObject({ code: 3, stdout: '' });
    expect(await permissionsOf(there)).toEqual([]);
  });

  it('a command stops waiting after --timeout and leaves its question open, so that a late yes counts', async () => {
    const { home, resource } = there;
    const run = await home.keyturn(['token', resource, '--timeout', '1s']);
    expect(run).toMatchObject({ code: 3, stdout: '' });
    expect(run.stderr).toContain('reason: consent_pending');
    const { id } = await onlyQuestion('allow');
    expect(run.stderr).toContain(`keyturn request approve ${id}`);
    await ask('request.answer', { id, answer: 'yes' });
    expect(await home.keyturn(['token', resource])).toMatchObject({ code: 0 });
  });

  it('a command withdraws its question when it is interrupted', async () => {
    const { home, resource } = there;
    const asking = home.start(['token', resource]);
    await onlyQuestion('allow');
    asking.signal('SIGINT');
    expect(await asking.ended).toMatchObject({ code: 130, stdout: '' });
    await until('the question is withdrawn', () => nothingIsAsked(there.home));
    expect(await permissionsOf(there)).toEqual([]);
  });

  it('counts a lease that ran out as no permission', async () => {
    const { home, resource } = there;
    await home.ok(['app', 'allow', 'cli', resource, '--for', '8h']);
    await home.ok(['token', resource]);
    await home.ok(['app', 'allow', 'cli', resource, '--for', '1s']);
    await until('the lease ran out', async () => (await permissionsOf(there)).length === 0);
    const run = await home.keyturn(['token', resource, '--no-input']);
    expect(run).toMatchObject({ code: 3, stdout: '' });
    expect(run.stderr).toContain('reason: consent_required');
  });

  it('B-39: keyturn app revoke leaves no trace at the server: the next request asks anew', async () => {
    const { home, world, resource } = there;
    await ask('permission.set', { app: 'cli', resource, decision: 'allow' });
    const token = (await home.ok(['token', resource])).trim();
    expect(await home.keyturn(['app', 'revoke', 'cli', resource])).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(await permissionsOf(there)).toEqual([]);
    const run = await home.keyturn(['token', resource, '--no-input']);
    expect(run).toMatchObject({ code: 3, stdout: '' });
    expect(run.stderr).toContain('reason: consent_required');
    // Ended is not revoked: what was handed out still serves, and the grant stands.
    expect((await verdictOn(world, token)).status).toBe(200);
    expect(world.counts().authorizationServer.revocations).toBe(0);
    expect(await ask('signIn.list', {})).toMatchObject({ signIns: [{ state: 'active', apps: [] }] });
    expect(await home.keyturn(['app', 'revoke', 'cli', resource])).toMatchObject({ code: 2, stdout: '' });
  });

  it('keyturn app remove cli ends all permissions of the command line, and says on a terminal that it stays', async () => {
    const { home } = there;
    const resource = 'https://notes.example/mcp';
    await ask('permission.set', { app: 'cli', resource, decision: 'allow' });
    const typescript = path.join(home.folder, 'typescript');
    const command = `${process.execPath} ${builtBin} app remove cli`;
    const shown = execFileSync('script', ['-qec', command, typescript], { env: home.env, encoding: 'utf8' });
    expect(shown).toContain(
      'keyturn: all permissions of cli have ended. It has no pairing: every keyturn command is still cli.',
    );
    expect(await permissionsOf(there)).toEqual([]);
    expect(await home.keyturn(['app', 'remove', 'cli'])).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('B-39: keyturn app revoke ends a denial too, and on a terminal one line says that nothing was revoked', async () => {
    const { home } = there;
    // Nobody is signed in there.
    const resource = 'https://notes.example/mcp';
    await ask('permission.set', { app: 'cli', resource, decision: 'deny' });
    const command = `${process.execPath} ${builtBin} app revoke cli ${resource}`;
    // script(1) gives the command a terminal for all its output.
    const typescript = path.join(home.folder, 'typescript');
    const shown = execFileSync('script', ['-qec', command, typescript], { env: home.env, encoding: 'utf8' });
    expect(shown.trim()).toBe(
      `keyturn: nothing was revoked at the server; keyturn logout ${resource} does that.`,
    );
    expect(await permissionsOf(there)).toEqual([]);
    const allowing = `${process.execPath} ${builtBin} app allow cli ${resource}`;
    const said = execFileSync('script', ['-qec', allowing, typescript], { env: home.env, encoding: 'utf8' });
    expect(said).toContain(
      'Nobody is signed in there yet: cli will work as the account of the first sign-in.',
    );
  });

  it('keyturn app revoke refuses a program or a server that doesn’t exist', async () => {
    const { home, resource } = there;
    expect(await home.keyturn(['app', 'revoke', 'nobody', resource])).toMatchObject({ code: 2, stdout: '' });
    expect(await home.keyturn(['app', 'revoke', 'cli', 'notes'])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('a sign-in that waits', () => {
  // A browser that leads nowhere.
  beforeAll(async () => void (await ask('settings.set', { name: 'browser', value: 'true' })));

  it('a sign-in that waits shows its address to another process, which may cancel it', async () => {
    const { home, world, resource } = there;
    const signingIn = home.start(['login', resource]);
    const question = await onlyQuestion('signIn');
    expect(new URL(question.url ?? '').origin).toBe(world.authorizationServer.issuer);
    await signingIn.says(question.url ?? '');

    await home.ok(['request', 'deny', question.id, '--remember']);
    const run = await signingIn.ended;
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('reason: login_failed');
    expect(await nothingIsAsked(there.home)).toBe(true);
  });

  it('a sign-in that waits ends with the command that was interrupted', async () => {
    const { home, resource } = there;
    const signingIn = home.start(['login', resource]);
    await onlyQuestion('signIn');
    signingIn.signal('SIGINT');
    expect(await signingIn.ended).toMatchObject({ code: 130, stdout: '' });
    await until('the sign-in is withdrawn', () => nothingIsAsked(there.home));
  });

  it('a sign-in that waits goes on in whatever browser the person opens the printed address with', async () => {
    const { home, world, resource } = there;
    await ask('settings.set', { name: 'browser', value: '/nonexistent/browser' });
    const signingIn = home.start(['login', resource]);
    const { url = '' } = await onlyQuestion('signIn');
    expect(await world.signIn(url)).toMatchObject({ status: 200 });
    expect(await signingIn.ended).toMatchObject({ code: 0, stdout: '' });
  });
});
