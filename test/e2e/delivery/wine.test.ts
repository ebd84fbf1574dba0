/**
 * The built command on Windows, as far as Wine shows it: Node for Windows, its named pipes, its files and its sockets.
 * Skipped where Wine isn't installed (Debian: apt-get install wine wine64); the set-up of `npm test` then says so.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasWine, WineHome } from '../../support/homes/wine-home.ts';
import { keepSecret } from '../../support/secrets.ts';
import { verdictOn } from '../../support/servers/notebook.ts';
import { openWorld, type TestWorld } from '../../support/world.ts';

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

  it('signs in, gets tokens over the pipe, and keeps the sign-in in a sealed file', async () => {
    const { resource } = world.protectedServer;
    const first = await home.startBroker();
    expect(first.stderr()).toContain('\\\\.\\pipe\\keyturn-');
    await home.signIn();
    expect(await verdict()).toBe(200);
    const second = await home.keyturn(['broker', 'run']);
    expect(second.stderr).toContain('A broker already runs for this home');
    expect(second.stderr).toContain('reason: broker_running');

    await home.ok('broker', 'stop');
    expect(await first.ended).toMatchObject({ code: 0 });
    await home.startBroker();
    expect(await verdict()).toBe(200);
    expect(world.counts().authorizationServer.signIns).toBe(1);
    expect(home.files()).toContain('AppData/Local/Keyturn/state/items/root');

    await home.ok('logout', resource);
    expect(await home.keyturn(['token', resource, '--no-input'])).toMatchObject({
      code: 3,
      stdout: '',
    });
    await home.ok('broker', 'stop');
  });

  it('keeps the sign-in in the Credential Manager until a reset', async () => {
    home.useHome('C:\\other', 'keychain');
    const first = await home.startBroker();
    await home.signIn();
    await home.ok('broker', 'stop');
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
