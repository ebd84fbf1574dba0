/** Attack: a process makes the broker attest that it is another program than it is. With real processes. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { pairingProcess } from '../../src/daemon/apps/app-processes.ts';
import { loadPeerReader } from '../../src/ipc/peer/peer.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/home.ts';

/** A program that connects, keeps its connection, and becomes another program when a line comes in. */
const changeling = `
use Socket; $^F = 255; $| = 1;
socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die; connect($s, pack_sockaddr_un($ARGV[0])) or die;
<STDIN>; exec $ARGV[1], '-e', 'sleep 60';
`;

/** Starts a program that connects to the socket, and what the broker is told of it then. */
async function appProcess(program: string, words: (socket: string) => string[]) {
  const readPeer = await loadPeerReader();
  const socket = path.join(temporaryFolder(), 's');
  const server = net.createServer({ pauseOnConnect: true });
  server.listen(socket);
  await once(server, 'listening');
  const connected = once(server, 'connection') as Promise<[net.Socket]>;
  const child = spawn(program, words(socket), { stdio: ['pipe', 'ignore', 'inherit'] });
  const [connection] = await connected;
  onTestFinished(async () => {
    connection.destroy();
    server.close();
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
  });
  return { child, view: pairingProcess({ peerNow: () => readPeer(connection), isOpen: () => true }) };
}

const perl = realpathSync(spawnSync('sh', ['-c', 'command -v perl']).stdout.toString().trim());

/** A program of the attacker's own, at a path that sounds harmless. */
function programAt(file: string): string {
  copyFileSync(perl, file);
  return file;
}

const ownMounts = spawnSync('unshare', ['-Urm', 'true']).status === 0;

describe.runIf(process.platform === 'linux')('a process that asks', () => {
  it('is not the one that was shown once it runs another file under the same path', async () => {
    const editor = programAt(path.join(temporaryFolder(), 'editor'));
    const { child, view } = await appProcess(editor, (socket) => ['-e', changeling, socket, editor]);
    expect(view).toMatchObject({ verified: true, pid: child.pid, executable: editor });
    expect(view.nowIs()).toBe('same');
    renameSync(programAt(`${editor}.new`), editor);
    child.stdin?.end('\n');
    // The first command line holds the whole script, and so the words of the second one too.
    await until(
      'it is another program',
      () => !readFileSync(`/proc/${child.pid}/cmdline`, 'utf8').includes('connect('),
    );
    expect(view.nowIs()).toBe('changed');
  });

  it('stays the same when its file is replaced on disk, as an update does', async () => {
    const editor = programAt(path.join(temporaryFolder(), 'editor'));
    const { view } = await appProcess(editor, (socket) => ['-e', changeling, socket, editor]);
    renameSync(programAt(`${editor}.new`), editor);
    expect(view.nowIs()).toBe('same');
  });

  it.runIf(ownMounts)(
    'has no attested path where it mounted its own file over another program’s',
    async () => {
      const folder = temporaryFolder();
      const evil = programAt(path.join(folder, 'evil'));
      const editor = path.join(folder, 'editor');
      writeFileSync(editor, 'an honest program');
      const disguise = 'mount --bind "$0" "$1" && exec "$1" -e "$2" "$3" none';
      const words = ['-Urm', 'sh', '-c', disguise, evil, editor, changeling];
      const { view } = await appProcess('unshare', (socket) => [...words, socket]);
      expect(view).toMatchObject({ executable: editor, file: 'elsewhere' });
    },
  );

  it('is told as an interpreter however it rewrites its arguments', async () => {
    const rewriting = `$0 = '/usr/bin/editor'; ${changeling}`;
    const { child, view } = await appProcess(perl, (socket) => ['-e', rewriting, socket, perl]);
    expect(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8')).toContain('/usr/bin/editor');
    expect(view).toMatchObject({ executable: perl, file: 'interpreter', claim: { isCut: false } });
  });
});

describe('a process identifier', () => {
  it('that names another process by the time of the answer voids the question', () => {
    const peer = { kind: 'verified', uid: 1000, gid: 1000, pid: process.pid } as const;
    const starts = ['100', '200'];
    const view = pairingProcess({
      peerNow: () => ({ ...peer, startTicks: starts.shift() ?? '' }),
      isOpen: () => true,
    });
    expect(view.nowIs()).toBe('changed');
  });

  it('of a process that has ended tells nothing of the one that has it now', () => {
    const peer = { kind: 'verified', uid: 1000, gid: 1000, pid: process.pid, startTicks: '1' } as const;
    const { nowIs: _, ...facts } = pairingProcess({ peerNow: () => peer, isOpen: () => true });
    expect(facts).toMatchObject({ verified: true, file: 'unreadable' });
    expect(facts).not.toHaveProperty('executable');
  });
});
