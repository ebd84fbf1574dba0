/** What the kernel says about the other end of a socket. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadPeerReader, type PeerFacts, sameProcess } from '../../../src/ipc/peer/peer.ts';
import { startOf } from '../../../src/ipc/peer/proc.ts';
import { programOf } from '../../../src/ipc/peer/program.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const onLinux = test.runIf(process.platform === 'linux');

/** A listening socket; each connection waits unread. */
async function listen(): Promise<{ server: net.Server; socket: string }> {
  const socket = path.join(temporaryFolder(), 's');
  const server = net.createServer({ pauseOnConnect: true });
  server.listen(socket);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { server, socket };
}

async function accepted(server: net.Server): Promise<net.Socket> {
  const { promise, resolve } = Promise.withResolvers<net.Socket>();
  server.once('connection', resolve);
  const connection = await promise;
  onTestFinished(() => void connection.destroy());
  return connection;
}

onLinux('names another process by pid and start time, and distinguishes two', async () => {
  const readPeer = await loadPeerReader();
  const { server, socket } = await listen();
  const peers: PeerFacts[] = [];
  for (let i = 0; i < 2; i += 1) {
    const connection = accepted(server);
    const child = spawn(process.execPath, ['-e', `require('net').connect(process.argv[1])`, socket]);
    const peer = readPeer(await connection);
    expect(peer).toMatchObject({
      kind: 'verified',
      uid: process.getuid?.(),
      gid: process.getgid?.(),
      pid: child.pid,
      executable: realpathSync(process.execPath),
    });
    expect(sameProcess(peer, peer)).toBe(true);
    expect(peer).toHaveProperty('startTicks');
    peers.push(peer);
    child.kill();
    await once(child, 'exit');
  }
  const [first, second] = peers;
  expect(first && second && sameProcess(first, second)).toBe(false);
});

onLinux('refuses to guess about a connection that is gone', async () => {
  const readPeer = await loadPeerReader();
  const { server, socket } = await listen();
  const connection = accepted(server);
  const client = net.connect(socket);
  const gone = await connection;
  gone.destroy();
  client.destroy();
  await once(gone, 'close');
  expect(() => readPeer(gone)).toThrow(expect.objectContaining({ reason: 'socket_unsafe' }));
});

onLinux('names a parent by its file, and an interpreter by the title that it gives itself', async () => {
  for (const [code, name] of [
    ['', path.basename(realpathSync(process.execPath))],
    ['process.title = "notes-agent";', 'notes-agent'],
  ] as const) {
    const child = spawn(process.execPath, [
      '-e',
      `${code} const { pid } = require('child_process').spawn('sleep', ['60']); console.log(pid);
      process.on('SIGTERM', () => process.kill(pid) && process.exit())`,
    ]);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const pid = Number(String(line));
    const startTicks = startOf(pid) ?? '';
    expect(programOf({ kind: 'verified', uid: 0, gid: 0, pid, startTicks }).parents[0]).toBe(name);
    child.kill();
    await once(child, 'exit');
  }
});

test('says `unverified` on systems without a reader', async () => {
  const readPeer = await loadPeerReader('darwin');
  expect(readPeer(new net.Socket())).toEqual({ kind: 'unverified' });
});
