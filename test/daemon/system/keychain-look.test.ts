/** A look at the keychain over D-Bus: real buses, a real keyring, and none of them started by it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { lookAtKeychain } from '../../../src/daemon/system/keychain-look.ts';
import { forkWorker } from '../../../src/vault/keychain/keychain-process.ts';
import { keychainVault } from '../../vault/vaults.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

// A bus that doesn't answer within two seconds counts as dead. On a busy machine a live one may take longer.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

function ends(child: ChildProcess): ChildProcess {
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  });
  return child;
}

/** A bus of its own, with folders of its own. `services`: where it finds what it could start. */
async function startBus(services: string) {
  const folder = temporaryFolder();
  const config = path.join(folder, 'bus.conf');
  writeFileSync(
    config,
    `<busconfig><type>session</type><listen>unix:path=${folder}/bus</listen><auth>EXTERNAL</auth>
    <servicedir>${services}</servicedir>
    <policy context="default"><allow eavesdrop="true"/><allow send_destination="*" eavesdrop="true"/><allow own="*"/></policy></busconfig>`,
  );
  const daemon = ends(
    spawn('dbus-daemon', [`--config-file=${config}`, '--nofork', '--print-address'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  );
  if (daemon.stdout) await once(daemon.stdout, 'data');
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    XDG_RUNTIME_DIR: folder,
    XDG_DATA_HOME: folder,
    DBUS_SESSION_BUS_ADDRESS: `unix:path=${folder}/bus`,
  };
  return { env, folder };
}

async function finished(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const [code] = (await once(spawn(command, args, { env, stdio: 'ignore' }), 'exit')) as [number | null];
  expect({ command, code }).toEqual({ command, code: 0 });
}

test('says whether a keychain could be started, and starts none', async () => {
  const folder = temporaryFolder();
  expect(await lookAtKeychain((await startBus(folder)).env)).toBe('noService');
  const started = path.join(folder, 'started');
  mkdirSync(path.join(folder, 'services'));
  writeFileSync(
    path.join(folder, 'services', 'org.freedesktop.secrets.service'),
    `[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/usr/bin/touch ${started}\n`,
  );
  const { env } = await startBus(path.join(folder, 'services'));
  expect(await lookAtKeychain(env)).toBe('asleep');
  expect(existsSync(started)).toBe(false);
});

test('tells a keychain without a default collection, and one that forgets at logout', async () => {
  const { env } = await startBus(temporaryFolder());
  ends(spawn('gnome-keyring-daemon', ['--foreground', '--components=secrets'], { env, stdio: 'ignore' }));
  await finished('gdbus', ['wait', '--session', '--timeout', '60', 'org.freedesktop.secrets'], env);
  expect(await lookAtKeychain(env)).toBe('noDefault');
  const vault = keychainVault({
    service: 'keyturn/none',
    spawnWorker: () => forkWorker(env),
    hasDefault: async () => (await lookAtKeychain(env)) !== 'noDefault',
  });
  onTestFinished(() => vault.close());
  await expect(vault.root()).rejects.toMatchObject({
    kind: 'absent',
    message: 'the keychain has no default collection to keep secrets in',
  });
  const secrets = '/org/freedesktop/secrets';
  const call = ['call', '--session', '--dest', 'org.freedesktop.secrets', '--object-path', secrets];
  const member = ['--method', 'org.freedesktop.Secret.Service.SetAlias'];
  await finished('gdbus', [...call, ...member, 'default', `${secrets}/collection/session`], env);
  expect(await lookAtKeychain(env)).toBe('volatile');
});

test('tells a keychain that hangs from a bus that does', async () => {
  vi.useRealTimers();
  const { env } = await startBus(temporaryFolder());
  const args = ['--foreground', '--components=secrets'];
  const keyring = ends(spawn('gnome-keyring-daemon', args, { env, stdio: 'ignore' }));
  await finished('gdbus', ['wait', '--session', '--timeout', '60', 'org.freedesktop.secrets'], env);
  keyring.kill('SIGSTOP');
  expect(await lookAtKeychain(env)).toBe('silent');
});

test('finds the keyring of these tests open', async () => {
  expect(process.env['KEYTURN_TEST_KEYRING']).toBe('1');
  expect(await lookAtKeychain(process.env)).toBe('open');
});

test.each<[string, string | Buffer]>([
  ['nonsense', 'hello\r\n'.repeat(10)],
  ['a refusal', 'REJECTED EXTERNAL\r\n'],
  [
    'a message that is longer than anything',
    Buffer.concat([Buffer.from('OK x\r\nl\x02\x00\x01'), Buffer.alloc(12, 0xff)]),
  ],
])('counts what answers with %s for no bus', async (_what, answer) => {
  const folder = temporaryFolder();
  const server = net.createServer((socket) => void socket.on('error', () => undefined).write(answer));
  server.listen(path.join(folder, 'bus'));
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  expect(await lookAtKeychain({ DBUS_SESSION_BUS_ADDRESS: `unix:path=${folder}/bus` })).toBe('deadBus');
});
