/** The keychain as the vault of real processes: what survives a restart, and what a locked one says. */
import { describe, expect, it } from 'vitest';
import { homeOnOwnKeyring } from '../../support/homes/own-keyring-home.ts';
import { homeInWorld } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, signIn, startBroker, stopBroker, tokenAt, unlock } from '../../support/homes/owner-acts.ts';
import { verdictOn } from '../../support/servers/notebook.ts';

describe('the keychain', () => {
  it('X-4: the keychain keeps a grant over a restart: no second sign-in, one refresh, and the rotated token is kept again', async () => {
    const { home, world, resource } = await homeInWorld({ vault: 'keychain' });
    await startBroker(home);
    await allow(home, 'cli', resource);
    await signIn(home, resource);
    const first = await tokenAt(home, resource);
    for (const restart of [1, 2]) {
      await stopBroker(home);
      await startBroker(home);
      const token = await tokenAt(home, resource);
      expect(token).not.toBe(first);
      expect((await verdictOn(world, token)).status).toBe(200);
      expect(world.counts().authorizationServer).toMatchObject({
        signIns: 1,
        registrations: 1,
        refreshes: restart,
        refreshReuses: 0,
      });
    }
  });

  it('a locked keychain leads to exit 7 and spends no refresh token, and the broker goes on once it is open', async () => {
    const { keyring, home, world, resource, token: old } = await homeOnOwnKeyring();
    await keyring.lock();
    const run = await home.keyturn(['token', resource, '--rejected-token-stdin'], { stdin: old });
    expect(run).toMatchObject({ code: 7, stdout: '' });
    expect(run.stderr).toMatch(/hint: .*unlock/);
    expect(world.counts().authorizationServer.tokenRequests).toBe(1);

    await keyring.restartUnlocked();
    // Programs leave a locked keychain alone for a while; a person asks it at once.
    await home.ok(['unlock']);
    expect((await verdictOn(world, await tokenAt(home, resource))).status).toBe(200);
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshes: 1, refreshReuses: 0 });
  });

  it('an absent keychain refuses before any sign-in, and nothing else takes its place', async () => {
    const { home, world, resource } = await homeInWorld({
      env: { KEYTURN_VAULT: 'keychain', DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent/bus' },
    });
    for (const command of ['app allow cli', 'token']) {
      const run = await home.keyturn([...command.split(' '), resource]);
      expect(run, command).toMatchObject({ code: 7, stdout: '' });
      expect(run.stderr).toContain('reason: vault_unavailable');
      expect(run.stderr).toContain('keyturn settings set vault sealed-file');
    }
    // What can be told without a keychain is.
    expect(await home.ok(['app', 'list'])).toContain('cli');
    expect(world.counts().authorizationServer.signIns).toBe(0);

    // The way that the hint names works, one hint after the other.
    const { stderr } = await home.keyturn(['settings', 'set', 'vault', 'sealed-file']);
    expect(stderr).toContain('keyturn unlock');
    expect(await askBroker(home, 'status', {})).toMatchObject({ vault: 'sealed-file' });
    await unlock(home, 'correct horse battery');
    await allow(home, 'cli', resource);
    await home.ok(['token', resource]);
  });
});
