/** The keychain as the vault of real processes: what survives a restart, what a locked one says, and what a killed broker leaves in it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { keychainVault } from '../../vault/vaults.ts';
import { openHeadless } from '../../support/homes/desk-home.ts';
import { homeOnOwnKeyring } from '../../support/homes/own-keyring-home.ts';
import { homeInWorld, newHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, signIn, startBroker, stopBroker, tokenAt, unlock } from '../../support/homes/owner-acts.ts';
import { verdictOn } from '../../support/servers/notebook.ts';
import { getIfAny } from '../../../src/vault/base/vault.ts';

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
    const run = await home.keyturn(['token', resource, '--rejected-stdin'], { stdin: old });
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
    for (const command of ['allow cli', 'token']) {
      const run = await home.keyturn([...command.split(' '), resource]);
      expect(run, command).toMatchObject({ code: 7, stdout: '' });
      expect(run.stderr).toContain('reason: vault_unavailable');
      expect(run.stderr).toContain('keyturn settings vault sealed-file');
    }
    // What can be told without a keychain is.
    expect(await home.ok(['clients'])).toContain('cli');
    expect(world.counts().authorizationServer.signIns).toBe(0);

    // The way that the hint names works, one hint after the other.
    const { stderr } = await home.keyturn(['settings', 'vault', 'sealed-file']);
    expect(stderr).toContain('keyturn unlock');
    expect(await askBroker(home, 'status', {})).toMatchObject({ vault: 'sealed-file' });
    await unlock(home, 'correct horse battery');
    await allow(home, 'cli', resource);
    await home.ok(['token', resource]);
  });

  it('the keychain loses the value of an API key that no record names, as a killed broker leaves it, at its next use', async () => {
    const home = newHome({ vault: 'keychain' });
    const first = await openHeadless(home);
    const set = { resource: 'https://tickets.example/mcp', header: 'X-Api-Key', unchecked: true };
    await first.line.request('key.set', { ...set, value: 'ak_of-this-server' });
    await first.stop();
    const { homeId } = JSON.parse(readFileSync(path.join(home.paths.state, 'home.json'), 'utf8')) as {
      homeId: string;
    };
    const vault = keychainVault({ service: `keyturn/${homeId}` }, { homeId, hadRoot: async () => true });
    onTestFinished(() => vault.close());
    const list = await vault.get('keys');
    await vault.set('keys', list.replace('[', '["0123456789abcdef",'));
    await vault.set('key.0123456789abcdef', 'as of a change that was cut short');
    const { line } = await openHeadless(home);
    expect(await line.request('proxy.list')).toEqual({ proxies: [] });
    expect(await getIfAny(vault, 'key.0123456789abcdef')).toBeUndefined();
    expect(await vault.get('keys')).toBe(list);
    await line.request('key.remove', { resource: set.resource });
  });
});
