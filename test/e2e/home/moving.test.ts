/** `keyturn export` and `keyturn import`: real commands, two homes as two machines, and a server that rotates its tokens. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDesk } from '../../support/homes/desk-home.ts';
import { homeInWorld, newHome, type TestHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, signIn, startBroker, tokenAt } from '../../support/homes/owner-acts.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const stdin = 'aPassphrase-1234\n';

const grantsOf = async (home: TestHome) => (await askBroker(home, 'grant.list', {})).grants;

describe('keyturn export', () => {
  it('keyturn export moves sign-ins and settings to another machine, where they work once a program is allowed', async () => {
    const { home, world, resource } = await homeInWorld();
    const there = newHome({ world });
    const file = path.join(temporaryFolder(), 'keyturn.sealed');
    const { issuer } = world.authorizationServer;
    await startBroker(home);
    await signIn(home, resource, { account: 'work' });
    await allow(home, 'cli', resource);
    const token = await tokenAt(home, resource);
    await askBroker(home, 'settings.set', { name: 'defaultLease', value: 'run' });
    const moved = `${resource} as "work" at ${issuer}\n`;
    expect(await home.ok(['export', file, '--passphrase-stdin'], { stdin })).toBe(moved);
    const sealed = readFileSync(file, 'utf8');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const secret of [token, resource, 'work', 'refresh']) expect(sealed).not.toContain(secret);

    expect(await grantsOf(home)).toMatchObject([{ state: 'moved' }]);
    expect(await home.ok(['explain', resource])).toContain('to use it on another machine');
    const refused = await home.keyturn(['token', resource]);
    expect(refused).toMatchObject({ code: 3, stdout: '' });
    expect(refused.stderr).toContain('reason: moved');

    const wrong = await there.keyturn(['import', file, '--passphrase-stdin'], {
      stdin: 'anotherPassphrase-5678\n',
    });
    expect(wrong).toMatchObject({ code: 7, stdout: '' });
    expect(await there.ok(['import', file, '--passphrase-stdin'], { stdin })).toBe(moved);
    expect(await there.ok(['settings'])).toMatch(/defaultLease +run/);
    expect((await there.keyturn(['token', resource, '--no-interaction'])).stderr).toContain(
      'consent_required',
    );
    await allow(there, 'cli', resource);
    await tokenAt(there, resource);
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshes: 1 });

    const again = await there.keyturn(['import', file, '--passphrase-stdin'], { stdin });
    expect(again).toMatchObject({ code: 0, stdout: '' });
    expect(again.stderr).toContain('1 came with this export before');
    expect(await home.ok(['revoke', resource])).toContain('another machine has its tokens');
    expect(await grantsOf(there)).toMatchObject([{ state: 'active' }]);
  });

  it('keyturn export overwrites no file, and --cancel takes everything back', async () => {
    const { home, resource } = await homeInWorld();
    await startBroker(home);
    await signIn(home, resource);
    await allow(home, 'cli', resource);
    const folder = temporaryFolder();
    const taken = path.join(folder, 'taken');
    writeFileSync(taken, 'mine');
    const refused = await home.keyturn(['export', taken, '--passphrase-stdin'], { stdin });
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(readFileSync(taken, 'utf8')).toBe('mine');
    expect(await grantsOf(home)).toMatchObject([{ state: 'active' }]);

    await home.ok(['export', path.join(folder, 'new'), '--passphrase-stdin'], { stdin });
    expect(await home.ok(['export', '--cancel'])).toContain(resource);
    expect(await home.keyturn(['export', '--cancel'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('nothing is exported'),
    });
    expect(await home.keyturn(['token', resource])).toMatchObject({ code: 0 });
  });

  it('keyturn export at a desk, and the way back, each wait for a card that lists the sign-ins', async () => {
    const { home, world, resource } = await homeInWorld();
    const file = path.join(temporaryFolder(), 'keyturn.sealed');
    const { owner, card, answer } = await openDesk(home);
    const signingIn = owner.call('login.start', { resource, account: 'work' });
    const { url = '' } = await card();
    await world.signIn(url);
    await signingIn;
    const { issuer } = world.authorizationServer;
    const signIns = [{ resource, issuer, account: 'work' }];
    const exporting = home.start(['export', file, '--passphrase-stdin'], { stdin });
    const first = await card();
    expect(first).toMatchObject({ command: 'export', signIns });
    expect(await home.ok(['pending'])).toContain(`export the sign-ins ${resource} ("work", by ${issuer})`);
    await answer(first.id, 'yes');
    expect(await exporting.ended).toMatchObject({ code: 0 });
    expect(await grantsOf(home)).toMatchObject([{ state: 'moved' }]);

    const cancelling = home.start(['export', '--cancel']);
    const second = await card();
    expect(second).toMatchObject({ command: 'takeBack', signIns });
    await answer(second.id, 'yes');
    expect(await cancelling.ended).toMatchObject({ code: 0 });
    expect(await grantsOf(home)).toMatchObject([{ state: 'active' }]);

    const another = path.join(temporaryFolder(), 'another.sealed');
    const refused = home.start(['export', another, '--passphrase-stdin'], { stdin });
    await answer((await card()).id, 'no');
    expect(await refused.ended).toMatchObject({ code: 4 });
    expect(existsSync(another)).toBe(false);
    expect(await grantsOf(home)).toMatchObject([{ state: 'active' }]);
  });
});
