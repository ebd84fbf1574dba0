/**
 * The built command on Windows, as far as Wine shows it: Node for Windows, its named pipes, its files and its sockets.
 * Skipped where Wine isn't installed (Debian: apt-get install wine wine64); the set-up of `npm test` then says so.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/home.ts';
import { hasWine, WineHome } from '../support/homes/wine-home.ts';
import { keepSecret } from '../support/secrets.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { openWorld } from '../support/world.ts';
import type { TestWorld } from '../support/world.ts';

describe.skipIf(!hasWine)('Keyturn under Wine', () => {
  let world: TestWorld;
  let home: WineHome;

  beforeAll(async () => {
    world = await openWorld();
    home = new WineHome(world);
    await home.open();
  });
  afterAll(async () => {
    await home.close();
    await world.close();
  });

  const verdict = async (): Promise<number> => {
    const token = (await home.ok('token', world.protectedServer.resource)).trim();
    keepSecret('access token', token);
    return (await verdictOn(world, token)).status;
  };

  async function signIn(): Promise<void> {
    const { resource } = world.protectedServer;
    await home.ok('allow', 'cli', resource);
    const login = home.start(['login', resource]);
    const page = await until('the address', () => /https:\/\/\S+\?\S+/.exec(login.stderr())?.[0]);
    await world.signIn(page);
    expect(await login.ended).toMatchObject({ code: 0 });
  }

  it('the built command signs in under Wine, gets tokens over the named pipe, and keeps the grant in the sealed file until it is revoked', async () => {
    const { resource } = world.protectedServer;
    const first = await home.startBroker();
    expect(first.stderr()).toContain('\\\\.\\pipe\\keyturn-');
    await signIn();
    expect(await verdict()).toBe(200);
    const second = await home.keyturn(['daemon']);
    expect(second.stderr).toContain('A broker already runs for this home');
    expect(second.stderr).toContain('reason: broker_running');

    await home.ok('daemon', '--stop');
    expect(await first.ended).toMatchObject({ code: 0 });
    await home.startBroker();
    expect(await verdict()).toBe(200);
    expect(world.counts().authorizationServer.signIns).toBe(1);
    expect(home.files()).toContain('AppData/Local/Keyturn/state/vault.sealed');

    await home.ok('revoke', resource);
    expect(await home.keyturn(['token', resource, '--no-interaction'])).toMatchObject({
      code: 3,
      stdout: '',
    });
    await home.ok('daemon', '--stop');
  });

  it('the broker keeps other users out of the folders of its home under Wine', () => {
    for (const folder of ['config', 'state', 'run'])
      expect(home.modeOf(`AppData/Local/Keyturn/${folder}`) & 0o007, folder).toBe(0);
  });

  it('the Credential Manager keeps the grant under Wine over a restart, only the user may open the pipe, and a reset leaves nothing', async () => {
    home.useHome('C:\\other', 'keychain');
    const first = await home.startBroker();
    await signIn();
    await home.ok('daemon', '--stop');
    expect(await first.ended).toMatchObject({ code: 0 });
    const second = await home.startBroker();
    expect(await verdict()).toBe(200);
    expect(await home.credentials()).toContain('keyturn/');
    const [pipe = ''] = /\\\\\.\\pipe\\[\w-]+/.exec(second.stderr()) ?? [];
    // One entry, for one user.
    expect(await home.rightsOf(pipe)).toMatch(/^D:P\(A;;FA;;;S-1-5-21-[\d-]+\)$/);
    await home.ok('reset', '--yes');
    expect(await home.credentials()).not.toContain('keyturn/');
  });
});
