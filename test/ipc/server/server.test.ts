/** What the broker's socket promises to those it admits, and how the socket itself is kept. */
import { execFile } from 'node:child_process';
import { createSecretKey } from 'node:crypto';
import { chmodSync, linkSync, renameSync, statSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { KeyturnError } from '../../../src/base/errors.ts';
import { startServer } from '../../../src/ipc/server/server.ts';
import { admitted, helloLine, RawClient, request, startRig } from '../rig.ts';

/** What was written has left, and what was closed is closed. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('an admitted client', () => {
  test('that writes while the broker stops still reads its answer', async () => {
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<object>()];
    const rig = await startRig({
      dispatch: async () => {
        asked.resolve();
        return answer.promise;
      },
    });
    const client = await admitted(rig, rig.enrol());
    client.send(request(1, 'a'));
    await asked.promise;
    client.socket.pause();
    answer.resolve({});
    await turns();
    const closed = rig.server.close();
    await turns();
    client.send(request(2, 'a'));
    await turns();
    client.socket.resume();
    expect(await client.next()).toMatchObject({ id: 1, result: {} });
    await closed;
  });

  test('has 64 requests in flight; the next waits for one of them', async () => {
    const release: (() => void)[] = [];
    const { promise: all64, resolve } = Promise.withResolvers<void>();
    const rig = await startRig({
      dispatch: async () => {
        const { promise, resolve: answer } = Promise.withResolvers<object>();
        release.push(() => answer({}));
        if (release.length === 64) resolve();
        return promise;
      },
    });
    const client = await admitted(rig, rig.enrol());
    for (let id = 1; id <= 70; id += 1) client.send(request(id, 'a'));
    await all64;
    expect(release).toHaveLength(64);
    release[0]?.();
    expect(await client.next()).toMatchObject({ id: 1 });
    expect(release).toHaveLength(65);
    for (let i = 1; i < 70; i += 1) {
      release[i]?.();
      await client.next();
    }
    expect(release).toHaveLength(70);
  });

  test('has its questions withdrawn when it leaves', async () => {
    const { promise: withdrawn, resolve } = Promise.withResolvers<boolean>();
    const { promise: asked, resolve: markAsked } = Promise.withResolvers<void>();
    const rig = await startRig({
      dispatch: async (caller) => {
        caller.onClose(() => resolve(caller.signal.aborted && !caller.isOpen));
        markAsked();
        return withdrawn;
      },
    });
    const client = await admitted(rig, rig.enrol());
    client.send(request(1, 'token.get'));
    await asked;
    client.socket.destroy();
    expect(await withdrawn).toBe(true);
  });

  test('loses every connection when it is removed, including a handshake under way', async () => {
    const rig = await startRig();
    const identity = rig.enrol();
    const other = await admitted(rig, rig.enrol());
    const client = await admitted(rig, identity);
    const halfway = new RawClient(rig.socket);
    halfway.send(helloLine(identity, rig.server.socketId));
    await halfway.next();
    rig.server.closeConnectionsOf(identity.appId);
    expect(await client.next()).toBeUndefined();
    expect(await halfway.next()).toBeUndefined();
    other.send(request(1, 'status'));
    expect(await other.next()).toMatchObject({ id: 1 });
  });
});

describe('the socket', () => {
  test('has mode 0600 and is removed when the broker stops', async () => {
    const rig = await startRig();
    expect(statSync(rig.socket).mode & 0o777).toBe(0o600);
    const client = await admitted(rig, rig.enrol());
    await rig.stop();
    expect(await client.next()).toBeUndefined();
    expect(statSync(rig.socket, { throwIfNoEntry: false })).toBeUndefined();
  });

  test('DOOR-1: refuses another user before it reads a byte', async () => {
    const uid = (process.getuid?.() ?? 0) + 1;
    let asked = 0;
    const rig = await startRig({
      readPeer: () => ({ kind: 'verified', uid, gid: uid, pid: 1 }),
      keyFor: async () => {
        asked += 1;
        return createSecretKey(Buffer.alloc(32));
      },
    });
    const client = new RawClient(rig.socket);
    client.send(helloLine(rig.enrol(), rig.server.socketId));
    expect(await client.next()).toBeUndefined();
    expect(asked).toBe(0);
    expect(rig.events).toMatchObject([{ event: 'refused', reason: 'not_permitted' }]);
  });

  // Only root can act as another user; an ordinary user runs only the test above.
  test.skipIf(process.getuid?.() !== 0)('receives nothing that a real other user sends', async () => {
    const rig = await startRig();
    // Every user can reach the socket, as if its mode gave no protection.
    for (let at = path.dirname(rig.socket); at !== tmpdir(); at = path.dirname(at)) chmodSync(at, 0o755);
    chmodSync(rig.socket, 0o666);
    const program = `
      const line = ${JSON.stringify(`${helloLine(rig.enrol(), rig.server.socketId)}\n`)};
      let heard = '';
      require('node:net').connect(process.argv[1], function () { this.write(line); })
        .on('data', (chunk) => (heard += chunk))
        .on('error', ({ code }) => code === 'EPIPE' || code === 'ECONNRESET' || (heard += code))
        .on('close', () => process.stdout.write(heard + 'closed'));`;
    const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups'];
    const args = [...nobody, process.execPath, '-e', program, rig.socket];
    expect((await promisify(execFile)('setpriv', args)).stdout).toBe('closed');
    await rig.seen(({ event }) => event === 'refused');
    expect(rig.events).toMatchObject([{ event: 'refused', reason: 'not_permitted', peer: { uid: 65534 } }]);
  });

  test('is not taken over from a running broker, and is from a dead one', async () => {
    const rig = await startRig();
    const deps = {
      path: rig.socket,
      homeId: 'other',
      keyFor: async () => undefined,
      dispatch: async () => ({}),
      pair: async () => {
        throw new KeyturnError('pairing_denied', 'no');
      },
      confirmPaired: async () => {},
      now: () => 0,
    };
    await expect(startServer(deps)).rejects.toMatchObject({ reason: 'broker_running' });
    await rig.stop();

    await leaveStaleSocket(rig.socket);
    const second = await startServer(deps);
    const client = new RawClient(rig.socket);
    client.send(helloLine(rig.enrol(), second.socketId));
    expect(await client.refusal()).toBe('unpaired');
    await second.close();
  });
});

/** A socket that nobody listens on, as a killed broker leaves it. */
async function leaveStaleSocket(socket: string): Promise<void> {
  const server = net.createServer();
  const mask = process.umask(0o177);
  await new Promise<void>((resolve) => {
    server.listen(socket, resolve);
  });
  process.umask(mask);
  const kept = `${socket}.kept`;
  linkSync(socket, kept);
  // Node removes the path as it closes; the second name outlives that.
  await new Promise((resolve) => {
    server.close(resolve);
  });
  renameSync(kept, socket);
}
