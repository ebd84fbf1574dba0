/** The client’s connection, on a socket of the real server. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, connectAsOwner } from '../../src/client/connect.ts';
import { ownerKeyFile } from '../../src/base/paths.ts';
import { appKeyFile, writeAppKeyFile } from '../../src/client/app-key-file.ts';
import { prepareFolder } from '../../src/base/private/private-folder.ts';
import { homeCapability } from '../../src/ipc/wire/capabilities.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { startRig } from '../ipc/rig.ts';
import { wireToken } from '../ipc/wire-token.ts';

const token = wireToken('https://a.example', { access_token: 'secret-token' });

const asked = { resource: 'https://a.example' };

/** A connection to a broker that does this. */
async function connected(dispatch: NonNullable<Parameters<typeof startRig>[0]>['dispatch']) {
  const rig = await startRig(dispatch ? { dispatch } : {});
  const connection = await connect({ key: rig.enrol(), paths: rig.paths });
  onTestFinished(() => connection.close());
  return { rig, connection };
}

describe('a connection', () => {
  test('gets a token under the name the program was paired with', async () => {
    const rig = await startRig({ dispatch: async () => token });
    writeAppKeyFile(appKeyFile(rig.paths, 'editor'), rig.enrol());
    const connection = await connect({ name: 'editor', paths: rig.paths });
    expect(await connection.getToken(asked)).toEqual(token);
    connection.close();
    expect(connection.isOpen).toBe(false);
  });

  test('does not act as the owner with another key in the owner’s place', async () => {
    const rig = await startRig();
    writeAppKeyFile(ownerKeyFile(rig.paths), rig.enrol());
    await expect(connectAsOwner({ paths: rig.paths })).rejects.toMatchObject({ reason: 'file_unreadable' });
  });

  test('is made with the broker of this home, and of no other with the same keys', async () => {
    const mark: string[] = [];
    const rig = await startRig({ capabilities: mark });
    prepareFolder(rig.paths.state);
    const key = rig.enrol();
    const open = async () => (await connect({ key, paths: rig.paths })).close();
    mark.push(...homeCapability(rig.paths));
    await open();
    mark.splice(0, 1, 'home-0123456789abcdef');
    await expect(open()).rejects.toMatchObject({ reason: 'broker_unreachable' });
    // A broker of an earlier release doesn't tell.
    mark.splice(0);
    await open();
  });

  test('passes on the reason and hint of a proven broker', async () => {
    const pending = new KeyturnError('consent_pending', 'a card is waiting', { hint: 'look at the tray' });
    const { connection } = await connected(async () => Promise.reject(pending));
    await expect(connection.getToken(asked)).rejects.toMatchObject({
      reason: 'consent_pending',
      message: 'a card is waiting',
      hint: 'look at the tray',
    });
  });

  test('refuses an answer to token.get that is no token', async () => {
    const { connection } = await connected(async () => ({ ...token, access_token: 'two\nlines' }));
    await expect(connection.getToken(asked)).rejects.toMatchObject({ reason: 'frame_invalid' });
  });

  test('rejects what is open when the broker goes, and connects anew for the next token', async () => {
    const hang = Promise.withResolvers<void>();
    const { rig, connection } = await connected(async (_caller, method) => {
      if (method !== 'hang') return token;
      hang.resolve();
      return new Promise(() => {});
    });
    const open = expect(connection.request('hang')).rejects.toMatchObject({ reason: 'broker_unreachable' });
    await hang.promise;
    await rig.stop();
    await open;
    await expect(connection.getToken(asked)).rejects.toMatchObject({ reason: 'broker_unreachable' });
    await rig.start();
    const all = [1, 2, 3].map(async () => connection.getToken(asked));
    expect(await Promise.all(all)).toEqual([token, token, token]);
    expect(rig.server.callers()).toHaveLength(1);
  });

  test('asks again when the connection breaks under a token request, three times at most', async () => {
    let times = 0;
    let breaks = 1;
    const { rig, connection } = await connected(async (caller) => {
      times += 1;
      if (times <= breaks) rig.server.closeConnectionsOf(caller.appId);
      return token;
    });
    expect(await connection.getToken(asked)).toEqual(token);
    expect(times).toBe(2);
    breaks = 100;
    await expect(connection.getToken(asked)).rejects.toMatchObject({ reason: 'broker_unreachable' });
    expect(times).toBe(5);
  });

  test('tells a request that another broker is asked the same, also if a later request connected first', async () => {
    let isFirst = true;
    const { rig, connection } = await connected(async (caller) => {
      if (!isFirst) return token;
      isFirst = false;
      rig.server.closeConnectionsOf(caller.appId);
      return new Promise(() => {});
    });
    let changes = 0;
    const early = connection.getToken(asked, { onBrokerChange: () => (changes += 1) });
    await expect(connection.request('lost')).rejects.toMatchObject({ reason: 'broker_unreachable' });
    await connection.getToken(asked);
    await early;
    expect(changes).toBe(1);
  });

  test('rejects an aborted request at once with the signal’s reason, and goes on', async () => {
    const { connection } = await connected(async (_caller, method) =>
      method === 'hang' ? new Promise(() => {}) : {},
    );
    const abort = new AbortController();
    const open = connection.request('hang', {}, { signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(open).rejects.toThrow('enough');
    expect(await connection.request('a')).toEqual({});
  });
});
