/**
 * The built command on Windows, as far as Wine shows it: Node for Windows, its named pipes, its files and its sockets.
 * Skipped where Wine isn't installed (Debian: apt-get install wine wine64); the set-up of `npm test` then says so.
 */
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { damageExecutable } from '../../support/damaged-executable.ts';
import { hasWine, windowsPath, WineHome } from '../../support/homes/wine-home.ts';
import { keepSecret } from '../../support/secrets.ts';
import { toolCall, verdictOn } from '../../support/servers/notebook.ts';
import { openWorld } from '../../support/world.ts';
import type { TestWorld } from '../../support/world.ts';

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

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

  it('the built command signs in under Wine, gets tokens over the named pipe, and keeps the grant in the sealed file until it is revoked', async () => {
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

  it('under Wine a client calls a tool by the bridge, and a program by the proxy, exec and headers get the broker’s token', async () => {
    const { resource } = world.protectedServer;
    await home.startBroker();
    await home.signIn();
    const entry = home.start(['connect', resource, '--as', 'an-editor']);
    for (const index of [0, 1]) await home.answer(entry, index);
    expect(await entry.ended).toMatchObject({ code: 0 });
    const bridged = await home.bridged('list-notes', [resource, '--as', 'an-editor']);
    expect(bridged).toMatchObject({ tools: ['list-notes', 'add-note'], stderr: '' });
    expect(JSON.stringify(bridged.answer)).toContain('alice');

    const proxy = (await home.ok('proxy', 'add', resource)).trim();
    const asked = fetch(proxy, toolCall('list-notes'));
    await home.ok('request', 'approve', await home.waiting());
    expect(await (await asked).text()).toContain('alice');

    const { Authorization: header = '' } = JSON.parse(await home.ok('headers', resource)) as {
      Authorization?: string;
    };
    const token = header.replace(/^Bearer /, '');
    keepSecret('access token', token);
    expect((await verdictOn(world, token)).status).toBe(200);
    const node = home.builtCommand[0] ?? '';
    const code = 'process.exitCode = process.env.TOKEN.length % 200';
    const run = await home.keyturn(['exec', '--env', `TOKEN=${resource}`, '--', node, '-e', code]);
    expect(run.code).toBe(token.length % 200);
  });

  it('under Wine Ctrl-C reaches the command that exec started, and the broker stops in order', async () => {
    const { resource } = world.protectedServer;
    const waits =
      "process.on('SIGINT', () => process.exit(5)); console.error('waits'); setInterval(() => 0, 1000)";
    const node = home.builtCommand[0] ?? '';
    const exec = ['exec', '--env', `TOKEN=${resource}`, '--', node, '-e', waits];
    expect(await home.interrupt('waits', exec)).toMatchObject({ code: 5 });
    await home.ok('logout', resource);
    await home.ok('broker', 'stop');
    const broker = await home.interrupt('the broker listens', ['broker', 'run']);
    expect(broker).toMatchObject({ code: 0, stderr: expect.stringContaining('keyturn: stopped') });
  });

  it('the broker keeps other users out of the folders of its home under Wine', () => {
    for (const folder of ['config', 'state', 'run'])
      expect(home.modeOf(`AppData/Local/Keyturn/${folder}`) & 0o007, folder).toBe(0);
  });

  it('the Credential Manager keeps the grant under Wine over a restart, only the user may open the pipe, and a reset leaves nothing', async () => {
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

  it('the executable of one file runs under Wine with Node 22 inside: it gets tokens over the pipe, starts a broker of its own, and loads no native code but its own', async () => {
    const { resource } = world.protectedServer;
    const executable = await home.buildExecutable();
    home.useHome('C:\\single', 'keychain');
    // The built command's: the executable loads no under-wine.cjs, without which nothing connects to a server here.
    await home.startBroker();
    await home.signIn();
    home.useCommand([windowsPath(executable)]);
    expect(await home.ok('--version')).toMatch(/^keyturn \d/);
    expect(await home.ok('--help')).toContain('Usage: keyturn COMMAND');
    expect(await verdict()).toBe(200);
    await home.ok('broker', 'stop');
    expect(await home.keyturn(['status'])).toMatchObject({ code: 8 });

    expect(await home.ok('sign-in', 'list')).toContain(resource);
    expect(await home.ok('status')).toContain('keychain');
    await home.ok('broker', 'stop');
    const native = home.files().filter((file) => file.endsWith('-koffi.node'));
    expect(native).toHaveLength(1);
    const kept = home.fileOf(native[0] ?? '');
    const hash = path.basename(kept).split('-', 1)[0];
    expect(sha256(readFileSync(kept))).toBe(hash);
    writeFileSync(kept, 'other code');
    expect(await home.ok('sign-in', 'list')).toContain(resource);
    expect(sha256(readFileSync(kept))).toBe(hash);
    await home.ok('reset', '--yes');

    const damaged = executable.replace('.exe', '-damaged.exe');
    damageExecutable(executable, damaged, readFileSync(kept));
    rmSync(kept);
    home.useCommand([windowsPath(damaged)]);
    expect(await home.keyturn(['broker', 'run'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('koffi.node'),
    });
  });
});
