/** A real sshd on loopback, and an `ssh` that knows it. The user's own ssh and shell are neither read nor written. */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { until } from '../home.ts';
import { signalIfAlive, treeOf } from './process-table.ts';
import { freePort } from '../servers/port.ts';

/** `host` is the name that ssh knows it by, by its key, or by its certificate's authority. Ends with the test. */
export async function sshServer(folder: string, host: string, { isKnownByAuthority = false } = {}) {
  const at = (...names: string[]): string => path.join(folder, ...names);
  for (const name of ['commands', 'far']) mkdirSync(at(name), { recursive: true, mode: 0o700 });
  for (const name of ['host', 'user', 'authority']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', at(name)]);
  }
  const port = await freePort();
  writeFileSync(
    at('sshd_config'),
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${at('host')}`,
      `HostCertificate ${at('host-cert.pub')}`,
      `AuthorizedKeysFile ${at('user.pub')}`,
      `Banner ${at('banner')}`,
      'PidFile none',
      'StrictModes no',
      'UsePAM no',
      // The shell of the account reads its own start-up files else, which may take a second for each command.
      `SetEnv XDG_RUNTIME_DIR=${at('far')} HOME=${folder}`,
      '',
    ].join('\n'),
  );
  // What it would like to be taken for: ssh prints the one, and writes the other into its log.
  const claimed = `debug1: Server host key: ssh-ed25519 SHA256:${'A'.repeat(43)}`;
  writeFileSync(at('banner'), `${claimed}\n`);
  const names = ['-n', '127.0.0.1', '-h', at('host.pub')];
  execFileSync('ssh-keygen', ['-q', '-s', at('authority'), '-I', `x\n${claimed}`, ...names]);
  const known = isKnownByAuthority ? ['@cert-authority ', 'authority.pub'] : ['', 'host.pub'];
  const [marker = '', file = ''] = known;
  writeFileSync(at('known_hosts'), `${marker}[127.0.0.1]:${port} ${readFileSync(at(file), 'utf8')}`);
  writeFileSync(
    at('ssh_config'),
    [
      `Host ${host}`,
      '  HostName 127.0.0.1',
      `  Port ${port}`,
      `  User ${userInfo().username}`,
      `  IdentityFile ${at('user')}`,
      '  IdentitiesOnly yes',
      `  UserKnownHostsFile ${at('known_hosts')}`,
      '  GlobalKnownHostsFile none',
      '',
    ].join('\n'),
  );
  // OpenSSH finds the user's configuration by the account, whatever HOME says.
  writeFileSync(at('commands', 'ssh'), `#!/bin/sh\nexec /usr/bin/ssh -F ${at('ssh_config')} "$@"\n`);
  chmodSync(at('commands', 'ssh'), 0o700);
  const server = spawnServer(at('sshd_config'));
  const stop = (): void => {
    // Each connection is a session of its own.
    for (const pid of server.pid === undefined ? [] : treeOf(server.pid)) signalIfAlive(pid, 'SIGKILL');
  };
  onTestFinished(stop);
  await until('sshd', () => answers(port));
  const [, hostKey = ''] = execFileSync('ssh-keygen', ['-l', '-f', at('host.pub')], {
    encoding: 'utf8',
  }).split(' ');
  return {
    /** What `ssh` takes. */
    host,
    /** Goes before the system's own commands in PATH. */
    commands: at('commands'),
    /** The folder in which a forward's socket lies at the other end. */
    far: at('far', 'keyturn-forward'),
    hostKey,
    stop,
  };
}

/** As root it wants a folder in /run, which a container may lack: it gets a /run of its own. */
function spawnServer(configuration: string) {
  const sshd = `exec /usr/sbin/sshd -D -f '${configuration}'`;
  const own = `mount -t tmpfs tmpfs /run && mkdir /run/sshd && ${sshd}`;
  const [command, ...words] =
    userInfo().uid === 0 ? ['unshare', '--mount', 'sh', '-c', own] : ['sh', '-c', sshd];
  return spawn(command ?? 'sh', words, { stdio: 'ignore' });
}

async function answers(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1');
  socket.once('data', () => resolve(true));
  socket.once('error', () => resolve(false));
  socket.once('close', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
