/** Where the socket is, and which folders and files are refused, with a hint. */
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectTo, listenAt } from '../../../src/ipc/wire/socket.ts';
import { homeCapability } from '../../../src/ipc/wire/capabilities.ts';
import { findSockets, recordSocket, socketPlaces } from '../../../src/ipc/wire/socket-path.ts';
import { homePaths } from '../../../src/base/paths.ts';
import { prepareSocket, temporaryHome } from '../rig.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const unsafe = { reason: 'socket_unsafe' };

function errorCodeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** A server on the socket of a home; closes every connection. */
async function listening(socket: string): Promise<{ socketId: string; server: net.Server }> {
  const server = net.createServer((connection) => connection.destroy());
  const socketId = await listenAt(server, socket);
  onTestFinished(() => void server.close());
  return { socketId, server };
}

describe('the path of the socket', () => {
  const env = { KEYTURN_HOME: `/${'x'.repeat(200)}`, XDG_RUNTIME_DIR: '/run/user/1000', HOME: '/home/ada' };

  test('is hashed into a private folder where it would be longer than 103 bytes', () => {
    const folder = (length: number) => homePaths({ KEYTURN_HOME: `/${'é'.repeat(length)}` });
    // 2 bytes each: "/" + 2n + "/run/broker.sock" is 103 bytes for n = 43.
    expect(socketPlaces(folder(43), env)[0]).toMatch(/é\/run\/broker\.sock$/);
    expect(socketPlaces(folder(44), env)[0]).toMatch(/^\/run\/user\/1000\/keyturn\/[0-9a-f]{16}\.sock$/);
    expect(socketPlaces(homePaths(env), { HOME: '/home/ada' })[0]).toMatch(
      /^\/home\/ada\/.local\/state\/keyturn\/run\/[0-9a-f]{16}\.sock$/,
    );
    expect(socketPlaces(homePaths(env), { HOME: env.KEYTURN_HOME })[0]).toMatch(
      /^\/tmp\/keyturn-\d+\/[0-9a-f]{16}\.sock$/,
    );
  });

  test('is recorded in the home, so that a client with another environment finds it', async () => {
    const folder = temporaryFolder();
    const desktop = { HOME: folder, XDG_RUNTIME_DIR: path.join(folder, 'runtime') };
    const paths = homePaths(desktop, 'linux');
    const socket = prepareSocket(paths, desktop);
    expect(socket).toBe(path.join(folder, 'runtime', 'keyturn', 'broker.sock'));
    expect(statSync(path.dirname(socket)).mode & 0o777).toBe(0o700);
    mkdirSync(paths.state, { recursive: true, mode: 0o700 });
    recordSocket(paths, socket);
    const cron = { HOME: folder };
    expect(findSockets(homePaths(cron, 'linux'), cron)).toEqual({
      places: [socket, path.join(paths.state, 'run', 'broker.sock')],
      isRecorded: true,
      home: homeCapability(paths),
    });
  });

  test.each<[string, (record: string) => void]>([
    ['is a link', (record) => symlinkSync(writtenTo(`${record}.other`, '/run/broker.sock\n'), record)],
    ['is open to others', (record) => chmodSync(writtenTo(record, '/run/broker.sock\n'), 0o644)],
    ['holds a relative path', (record) => void writtenTo(record, 'relative/socket\n')],
    ['holds more than a path', (record) => void writtenTo(record, `/${'x'.repeat(200)}\n`)],
    ['is a folder', (record) => mkdirSync(record)],
  ])('is computed if the record %s', (_what, spoil) => {
    const paths = temporaryHome();
    mkdirSync(paths.state, { recursive: true, mode: 0o700 });
    spoil(path.join(paths.state, 'broker.path'));
    expect(findSockets(paths, {})).toMatchObject({ places: [prepareSocket(paths)], isRecorded: false });
  });

  test.each<[string, (runtime: string) => void]>([
    ['is below a file', (runtime) => void writtenTo(path.dirname(runtime), '')],
    ['is open to others', (runtime) => chmodSync(folderAt(runtime), 0o777)],
    [
      'has a folder of ours that is open',
      (runtime) => void mkdirSync(path.join(runtime, 'keyturn'), { recursive: true, mode: 0o755 }),
    ],
  ])('the socket is in the state folder if XDG_RUNTIME_DIR %s', (_what, spoil) => {
    const folder = temporaryFolder();
    const session = { HOME: folder, XDG_RUNTIME_DIR: path.join(folder, 'login', 'runtime') };
    spoil(session.XDG_RUNTIME_DIR);
    const paths = homePaths(session, 'linux');
    expect(prepareSocket(paths, session)).toBe(path.join(paths.state, 'run', 'broker.sock'));
  });
});

function folderAt(name: string): string {
  mkdirSync(name, { recursive: true });
  return name;
}

function writtenTo(file: string, content: string): string {
  writeFileSync(file, content, { mode: 0o600 });
  return file;
}

describe('the folder', () => {
  test.each([0o755, 0o770, 0o701, 0o500])(
    'of the socket is refused with mode %o, and the hint fixes it',
    (mode) => {
      const paths = temporaryHome();
      mkdirSync(paths.run, { recursive: true });
      chmodSync(paths.run, mode);
      const hint = expect.stringContaining(`chmod 700 ${paths.run}`);
      expect(() => prepareSocket(paths)).toThrow(expect.objectContaining({ ...unsafe, hint }));
      expect(statSync(paths.run).mode & 0o777).toBe(mode);
      chmodSync(paths.run, 0o700);
      prepareSocket(paths);
    },
  );

  test('DOOR-3: of the socket is refused as a symbolic link, by broker and client', async () => {
    const paths = temporaryHome();
    const elsewhere = temporaryFolder();
    mkdirSync(path.dirname(paths.run), { recursive: true });
    symlinkSync(elsewhere, paths.run);
    const hint = expect.stringContaining('move it away: mv ');
    expect(() => prepareSocket(paths)).toThrow(expect.objectContaining({ ...unsafe, hint }));
    await expect(connectTo(path.join(paths.run, 'broker.sock'))).rejects.toMatchObject(unsafe);
  });

  test.runIf(process.getuid?.() === 0)('of the socket is refused when it belongs to someone else', () => {
    const paths = temporaryHome();
    prepareSocket(paths);
    chownSync(paths.run, 65534, 65534);
    expect(() => prepareSocket(paths)).toThrow(/belongs to user 65534/);
  });

  test.runIf(process.platform === 'linux')(
    'a folder that can never be made is refused, and not tried for ever',
    () => {
      const paths = homePaths({ KEYTURN_HOME: '/proc/keyturn' });
      expect(() => prepareSocket(paths)).toThrow(
        expect.objectContaining({
          reason: 'file_unreadable',
          message: expect.stringContaining("can't be made"),
          hint: expect.stringContaining('KEYTURN_HOME'),
        }),
      );
    },
  );
});

/** Puts one of two sockets in the place of the other, again and again. */
const swapping = `
  const { linkSync, renameSync, rmSync } = require('node:fs');
  const { socket, folder } = require('node:worker_threads').workerData;
  for (let turn = 0; ; turn += 1) {
    rmSync(socket + '.next', { force: true });
    linkSync(folder + (turn % 2 ? '/one' : '/two'), socket + '.next');
    renameSync(socket + '.next', socket);
  }`;

describe('the socket', () => {
  test('DOOR-3: is refused as a symbolic link to a socket', async () => {
    const real = prepareSocket(temporaryHome());
    await listening(real);
    const link = prepareSocket(temporaryHome());
    symlinkSync(real, link);
    await expect(connectTo(link)).rejects.toMatchObject(unsafe);
    await expect(listenAt(net.createServer(), link)).rejects.toMatchObject(unsafe);
    expect(existsSync(link)).toBe(true);
  });

  test('is never deleted when it is a plain file', async () => {
    const socket = prepareSocket(temporaryHome());
    writeFileSync(socket, 'mine', { mode: 0o600 });
    await expect(listenAt(net.createServer(), socket)).rejects.toMatchObject(unsafe);
    expect(readFileSync(socket, 'utf8')).toBe('mine');
  });

  test.each([0o777, 0o666, 0o660, 0o644, 0o400])(
    'DOOR-3: is refused with mode %o, by a client and by a broker, which keeps it',
    async (mode) => {
      const socket = prepareSocket(temporaryHome());
      await listening(socket);
      chmodSync(socket, mode);
      const refusal = { ...unsafe, hint: expect.stringContaining(`chmod 600 ${socket}`) };
      await expect(connectTo(socket)).rejects.toMatchObject(refusal);
      await expect(listenAt(net.createServer(), socket)).rejects.toMatchObject(refusal);
      expect(statSync(socket).mode & 0o777).toBe(mode);
    },
  );

  test.runIf(process.getuid?.() === 0)(
    'is refused by both ends when it belongs to someone else',
    async () => {
      const socket = prepareSocket(temporaryHome());
      await listening(socket);
      chownSync(socket, 65534, 65534);
      await expect(connectTo(socket)).rejects.toThrow(/belongs to user 65534/);
      await expect(listenAt(net.createServer(), socket)).rejects.toThrow(/belongs to user 65534/);
    },
  );

  test('is used by neither end in a folder that others may write to', async () => {
    const socket = prepareSocket(temporaryHome());
    await listening(socket);
    chmodSync(path.dirname(socket), 0o777);
    const refusal = { ...unsafe, hint: expect.stringContaining('chmod 700') };
    await expect(connectTo(socket)).rejects.toMatchObject(refusal);
    await expect(listenAt(net.createServer(), socket)).rejects.toMatchObject(refusal);
  });

  test.runIf(process.platform === 'linux')(
    'replaced while a client connects is still the one named in its hello',
    async () => {
      const socket = prepareSocket(temporaryHome());
      const folder = path.dirname(socket);
      const names = new Map<string, string>();
      for (const name of ['one', 'two']) {
        const server = net.createServer((connection) => connection.end(name));
        const target = path.join(folder, name);
        names.set(await listenAt(server, target), name);
        onTestFinished(() => void server.close());
      }
      linkSync(path.join(folder, 'one'), socket);
      const swapper = new Worker(swapping, { eval: true, workerData: { socket, folder } });
      onTestFinished(async () => void (await swapper.terminate()));
      const met = new Set<string>();
      for (let i = 0; i < 300 || met.size < 2; i += 1) {
        const { socket: connection, socketId } = await connectTo(socket);
        const said = await text(connection);
        expect(names.get(socketId)).toBe(said);
        met.add(said);
      }
    },
  );

  test.runIf(process.platform === 'linux')(
    'a socket with a full queue is tried again until there is room',
    async () => {
      const socket = prepareSocket(temporaryHome());
      const server = net.createServer((connection) => connection.end('here'));
      const mask = process.umask(0o177);
      server.listen({ path: socket, backlog: 1 });
      process.umask(mask);
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      // Nobody is accepted before this turn of the event loop ends.
      const others = Array.from({ length: 5 }, () => net.connect(socket));
      const turnedAway = others.map(async (other) => once(other, 'connect').then(() => '', errorCodeOf));
      const { socket: connection } = await connectTo(socket);
      expect(await text(connection)).toBe('here');
      expect(await Promise.all(turnedAway)).toContain('EAGAIN');
      for (const other of others) other.destroy();
    },
  );
});
