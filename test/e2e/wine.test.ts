/**
 * The built command on Windows, as far as Wine shows it: Node for Windows, its named pipes, its files and its sockets.
 * Skipped where Wine isn't installed (Debian: apt-get install wine wine64); the set-up of `npm test` then says so.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../support/home.ts';
import { hasWine, WineHome } from '../support/homes/wine-home.ts';
import { keepSecret } from '../support/secrets.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { openWorld } from '../support/world.ts';

describe.skipIf(!hasWine)('Keyturn under Wine', () => {
  it('the built command signs in under Wine, gets tokens over the named pipe, and keeps the grant in the sealed file until it is revoked', async () => {
    const world = await openWorld();
    onTestFinished(() => world.close());
    const home = new WineHome(world);
    onTestFinished(() => home.close());
    await home.open();
    const { resource } = world.protectedServer;
    const verdict = async (): Promise<number> => {
      const token = (await home.ok('token', resource)).trim();
      keepSecret('access token', token);
      return (await verdictOn(world, token)).status;
    };

    const first = await home.startBroker();
    expect(first.stderr()).toContain('\\\\.\\pipe\\keyturn-');
    await home.ok('allow', 'cli', resource);
    const login = home.start(['login', resource]);
    const page = await until('the address', () => /https:\/\/\S+\?\S+/.exec(login.stderr())?.[0]);
    await world.signIn(page);
    expect(await login.ended).toMatchObject({ code: 0 });
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
  });
});
