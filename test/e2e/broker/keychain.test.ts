/** The keychain as the vault of real processes: what survives a restart, and what a locked one says. */
import { describe, expect, it } from 'vitest';
import { homeOnOwnKeyring } from '../../support/homes/own-keyring-home.ts';
import { homeInWorld } from '../../support/home.ts';
import { allow, signIn, startBroker, stopBroker, tokenAt } from '../../support/homes/owner-acts.ts';
import { verdictOn } from '../../support/servers/notebook.ts';

describe('the keychain', () => {
  it('X-4: keeps a sign-in over restarts, with the rotated token', async () => {
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

  it('that is locked leads to exit 7 and spends no refresh token', async () => {
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
});
