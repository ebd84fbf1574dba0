/** The client’s connection, on a socket of the real server. */
import { describe, expect, test } from 'vitest';
import { connect, connectAsOwner } from '../../src/client/connect.ts';
import { ownerKeyFile } from '../../src/base/paths.ts';
import { appKeyFile, writeKeyFile } from '../../src/client/key-file.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { startRig } from '../ipc/rig.ts';

const token = {
  access_token: 'secret-token',
  token_type: 'Bearer',
  expires_at: 1_800_000_000,
  expires_in: 3600,
  scope: 'read',
  resource: 'https://a.example',
  account: '',
  issuer: 'https://login.example',
  tokenId: 't1',
};

describe('a connection', () => {
  test('gets a token under the name the program was paired with', async () => {
    const rig = await startRig({ dispatch: async () => token });
    writeKeyFile(appKeyFile(rig.paths, 'editor'), rig.enrol());
    const connection = await connect({ name: 'editor', paths: rig.paths });
    expect(await connection.getToken({ resource: 'https://a.example' })).toEqual(token);
    connection.close();
    expect(connection.isOpen).toBe(false);
  });

  test('does not act as the owner with another key in the owner’s place', async () => {
    const rig = await startRig();
    writeKeyFile(ownerKeyFile(rig.paths), rig.enrol());
    await expect(connectAsOwner({ paths: rig.paths })).rejects.toMatchObject({ reason: 'file_unreadable' });
  });

  test('passes on the reason and hint of a proven broker', async () => {
    const rig = await startRig({
      dispatch: async () => {
        throw new KeyturnError('consent_pending', 'a card is waiting', { hint: 'look at the tray' });
      },
    });
    const connection = await connect({ key: rig.enrol(), paths: rig.paths });
    await expect(connection.getToken({ resource: 'https://a.example' })).rejects.toMatchObject({
      reason: 'consent_pending',
      message: 'a card is waiting',
      hint: 'look at the tray',
    });
    connection.close();
  });

  test('refuses an answer to token.get that is no token', async () => {
    const rig = await startRig({ dispatch: async () => ({ ...token, access_token: 'two\nlines' }) });
    const connection = await connect({ key: rig.enrol(), paths: rig.paths });
    await expect(connection.getToken({ resource: 'https://a.example' })).rejects.toMatchObject({
      reason: 'frame_invalid',
    });
    connection.close();
  });

  test('rejects what is open when the broker goes, and connects anew for the next token', async () => {
    const hang = Promise.withResolvers<void>();
    const rig = await startRig({
      dispatch: async (_caller, method) => {
        if (method !== 'hang') return token;
        hang.resolve();
        return new Promise(() => {});
      },
    });
    const connection = await connect({ key: rig.enrol(), paths: rig.paths });
    const open = expect(connection.request('hang')).rejects.toMatchObject({ reason: 'broker_unreachable' });
    await hang.promise;
    await rig.stop();
    await open;
    await expect(connection.getToken({ resource: 'https://a.example' })).rejects.toMatchObject({
      reason: 'broker_unreachable',
    });
    await rig.start();
    const asked = [1, 2, 3].map(async () => connection.getToken({ resource: 'https://a.example' }));
    expect(await Promise.all(asked)).toEqual([token, token, token]);
    expect(rig.server.callers()).toHaveLength(1);
    connection.close();
  });

  test('asks again when the connection breaks under a token request, three times at most', async () => {
    let asked = 0;
    let breaks = 1;
    const rig = await startRig({
      dispatch: async (caller) => {
        asked += 1;
        if (asked > breaks) return token;
        rig.server.closeConnectionsOf(caller.appId);
        return token;
      },
    });
    const connection = await connect({ key: rig.enrol(), paths: rig.paths });
    expect(await connection.getToken({ resource: 'https://a.example' })).toEqual(token);
    expect(asked).toBe(2);
    breaks = 100;
    await expect(connection.getToken({ resource: 'https://a.example' })).rejects.toMatchObject({
      reason: 'broker_unreachable',
    });
    expect(asked).toBe(5);
    connection.close();
  });

  test('rejects an aborted request at once with the signal’s reason, and goes on', async () => {
    const rig = await startRig({
      dispatch: async (_caller, method) => (method === 'hang' ? new Promise(() => {}) : {}),
    });
    const connection = await connect({ key: rig.enrol(), paths: rig.paths });
    const abort = new AbortController();
    const open = connection.request('hang', {}, { signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(open).rejects.toThrow('enough');
    expect(await connection.request('a')).toEqual({});
    connection.close();
  });
});
