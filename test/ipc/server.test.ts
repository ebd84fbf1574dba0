/** The broker's socket, attacked with hand-made frames; and what it promises to those it admits. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { linkSync, renameSync, statSync } from 'node:fs';
import net from 'node:net';

import { describe, expect, test } from 'vitest';

import { KeyturnError } from '../../src/errors.ts';
import { startServer } from '../../src/ipc/server.ts';
import { frameLimit, handshakeFrameLimit, handshakeTimeout } from '../../src/ipc/wire.ts';
import { admitted, helloLine, proofsFor, prove, RawClient, startRig } from './rig.ts';

function request(id: number, method: string, params: object = {}): object {
  return { jsonrpc: '2.0', id, method, params };
}

describe('the handshake', () => {
  test('admits a client that proves its key, after the broker proved', async () => {
    const rig = await startRig();
    const identity = rig.enrol();
    const client = new RawClient(rig.socket);
    const line = helloLine(identity, rig.server.endpoint);
    client.send(line);
    const { proofB, expectedB, proofC } = proofsFor(identity, line, await client.next());
    expect(proofB).toBe(expectedB);
    client.send(prove(proofC));
    // The first request may follow at once.
    client.send(request(1, 'status', { a: 1 }));
    expect(await client.next()).toEqual({ jsonrpc: '2.0', id: 'p', result: {} });
    expect(await client.next()).toMatchObject({ result: { clientId: identity.clientId, params: { a: 1 } } });
    expect(rig.server.callers().map((caller) => [caller.clientId, caller.role])).toEqual([
      [identity.clientId, 'client'],
    ]);
  });

  test('gives the owner its role', async () => {
    const rig = await startRig();
    await admitted(rig, rig.enrol('owner'));
    expect(rig.server.callers().map((caller) => caller.role)).toEqual(['owner']);
  });

  test('makes another nonce and proof each time for the same hello', async () => {
    const rig = await startRig();
    const line = helloLine(rig.enrol(), rig.server.endpoint);
    const answers = [];
    for (const client of [new RawClient(rig.socket), new RawClient(rig.socket)]) {
      client.send(line);
      answers.push(JSON.stringify((await client.next())?.['result']));
    }
    expect(new Set(answers).size).toBe(2);
  });

  test('refuses a whole handshake replayed', async () => {
    const rig = await startRig();
    const identity = rig.enrol();
    const first = new RawClient(rig.socket);
    const line = helloLine(identity, rig.server.endpoint);
    first.send(line);
    const recorded = prove(proofsFor(identity, line, await first.next()).proofC);
    first.send(recorded);
    expect(await first.next()).toMatchObject({ result: {} });

    const thief = new RawClient(rig.socket);
    thief.send(line);
    await thief.next();
    thief.send(recorded);
    expect(await thief.refusal()).toBe('handshake_failed');
  });

  test("refuses the broker's own proof reflected", async () => {
    const rig = await startRig();
    const identity = rig.enrol();
    const client = new RawClient(rig.socket);
    const line = helloLine(identity, rig.server.endpoint);
    client.send(line);
    client.send(prove(proofsFor(identity, line, await client.next()).proofB));
    expect(await client.refusal()).toBe('handshake_failed');
  });

  test('refuses a wrong key, and a second attempt on the connection', async () => {
    const rig = await startRig();
    const identity = rig.enrol();
    const wrong = { ...identity, key: randomBytes(32).toString('base64url') };
    const client = new RawClient(rig.socket);
    const line = helloLine(identity, rig.server.endpoint);
    client.send(line);
    const answer = await client.next();
    client.send(prove(proofsFor(wrong, line, answer).proofC));
    client.send(prove(proofsFor(identity, line, answer).proofC));
    expect(await client.refusal()).toBe('handshake_failed');
    expect(rig.server.callers()).toEqual([]);
  });

  test('a wrong proof locks nobody out: the right one works the next moment', async () => {
    const rig = await startRig();
    const identity = rig.enrol();
    for (let i = 0; i < 20; i += 1) {
      const client = new RawClient(rig.socket);
      client.send(helloLine(identity, rig.server.endpoint));
      await client.next();
      client.send(prove(randomBytes(32).toString('base64url')));
      expect(await client.refusal()).toBe('handshake_failed');
    }
    await admitted(rig, identity);
    expect(rig.server.callers()).toHaveLength(1);
  });

  test('gives no proof to a hello that names another socket', async () => {
    const rig = await startRig();
    const client = new RawClient(rig.socket);
    client.send(helloLine(rig.enrol(), 'unix:1:2'));
    expect(await client.refusal()).toBe('handshake_failed');
  });

  test('refuses versions it does not speak', async () => {
    const rig = await startRig();
    const client = new RawClient(rig.socket);
    client.send(helloLine(rig.enrol(), rig.server.endpoint, { versions: [0, 2] }));
    expect(await client.refusal()).toBe('handshake_failed');
  });

  test('binds the proof to the offered versions: a line changed on the way proves nothing', async () => {
    const rig = await startRig();
    const identity = rig.enrol();
    const client = new RawClient(rig.socket);
    const nonce = randomBytes(32).toString('base64url');
    const meant = helloLine(identity, rig.server.endpoint, { versions: [2, 1], nonce });
    client.send(helloLine(identity, rig.server.endpoint, { versions: [1], nonce }));
    const { proofB, expectedB, proofC } = proofsFor(identity, meant, await client.next());
    expect(proofB).not.toBe(expectedB);
    client.send(prove(proofC));
    expect(await client.refusal()).toBe('handshake_failed');
  });

  test('answers `unpaired` to an id it does not know', async () => {
    const rig = await startRig();
    const identity = rig.enrol();
    rig.keys.clear();
    const client = new RawClient(rig.socket);
    client.send(helloLine(identity, rig.server.endpoint));
    expect(await client.refusal()).toBe('unpaired');
  });

  test('answers `locked` while the keys cannot be read', async () => {
    const rig = await startRig({
      keyFor: async () => {
        throw new KeyturnError('locked', 'the vault is locked');
      },
    });
    const client = new RawClient(rig.socket);
    client.send(helloLine(rig.enrol(), rig.server.endpoint));
    expect(await client.refusal()).toBe('locked');
  });

  test('does not admit a client whose pairing came to nothing', async () => {
    const rig = await startRig({
      confirmPaired: async () => {
        throw new KeyturnError('unpaired', 'too late');
      },
    });
    const identity = rig.enrol();
    const client = new RawClient(rig.socket);
    const line = helloLine(identity, rig.server.endpoint);
    client.send(line);
    client.send(prove(proofsFor(identity, line, await client.next()).proofC));
    expect(await client.refusal()).toBe('unpaired');
    expect(rig.server.callers()).toEqual([]);
  });
});

describe('before the handshake', () => {
  test.each([
    ['a request', request(1, 'token.get', { resource: 'https://a.example' })],
    ['a proof first', prove(randomBytes(32).toString('base64url'))],
    ['a notification', { jsonrpc: '2.0', method: 'hello', params: {} }],
    ['a hello without fields', request(1, 'hello')],
    ['a pairing without fields', request(1, 'pair')],
  ])('refuses %s and dispatches nothing', async (_name, message) => {
    let dispatched = 0;
    const rig = await startRig({
      dispatch: async () => {
        dispatched += 1;
      },
    });
    const client = new RawClient(rig.socket);
    client.send(message);
    client.send(request(2, 'status'));
    expect(await client.refusal()).toBe('handshake_failed');
    expect(dispatched).toBe(0);
  });

  test('refuses a request between hello and prove', async () => {
    const rig = await startRig();
    const client = new RawClient(rig.socket);
    client.send(helloLine(rig.enrol(), rig.server.endpoint));
    await client.next();
    client.send(request(1, 'status'));
    expect(await client.refusal()).toBe('handshake_failed');
  });

  test.each([
    ['no JSON', 'GET / HTTP/1.1', 'parse_error'],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"hello"}]', 'frame_invalid'],
    ['an answer', '{"jsonrpc":"2.0","id":1,"result":{}}', 'frame_invalid'],
    ['a frame past 16 KiB', ' '.repeat(handshakeFrameLimit + 1), 'frame_invalid'],
  ])('answers %s with one error and closes', async (_name, line, reason) => {
    const rig = await startRig();
    const client = new RawClient(rig.socket);
    client.send(line);
    expect(await client.refusal()).toBe(reason);
  });

  test('closes on a frame that grows past 16 KiB without ever ending', async () => {
    const rig = await startRig();
    const client = new RawClient(rig.socket);
    client.socket.write('x'.repeat(handshakeFrameLimit + 1));
    expect(await client.refusal()).toBe('frame_invalid');
  });

  test('forgets a client that leaves in the middle of its hello', async () => {
    const rig = await startRig();
    const client = new RawClient(rig.socket);
    client.socket.end('{"jsonrpc":"2.0","id":1,"meth');
    await rig.seen(({ event }) => event === 'closed');
    expect(rig.events.map(({ event }) => event)).toEqual(['closed']);
  });

  test('closes a handshake that takes longer than five seconds', async () => {
    const rig = await startRig();
    const client = new RawClient(rig.socket);
    client.send(helloLine(rig.enrol(), rig.server.endpoint));
    await client.next();
    rig.clock.turn(handshakeTimeout - 1);
    client.send('{"half":');
    rig.clock.turn(1);
    expect(await client.refusal()).toBe('handshake_failed');
  });

  test('lets an admitted client stay as long as it likes', async () => {
    const rig = await startRig();
    const client = await admitted(rig, rig.enrol());
    rig.clock.turn(10 * handshakeTimeout);
    client.send(request(1, 'status'));
    expect(await client.next()).toMatchObject({ id: 1, result: { method: 'status' } });
  });

  test('turns the 65th unauthenticated connection away, and has room again when one leaves', async () => {
    const rig = await startRig();
    const identity = rig.enrol();
    const strangers = [];
    for (let i = 0; i < 64; i += 1) {
      const stranger = new RawClient(rig.socket);
      stranger.send(helloLine(identity, rig.server.endpoint));
      // Its answer shows that the broker has counted it.
      await stranger.next();
      strangers.push(stranger);
    }
    expect(await new RawClient(rig.socket).refusal()).toBe('rate_limited');
    strangers[0]?.socket.destroy();
    await rig.seen((event) => event.event === 'closed' && event.clientId === identity.clientId);
    await admitted(rig, identity);
    expect(rig.server.callers()).toHaveLength(1);
  });
});

describe('an admitted client', () => {
  test('gets the reason, hint and rule of a refusal, and nothing of a foreign error', async () => {
    const rig = await startRig({
      dispatch: async (_caller, method) => {
        if (method === 'a')
          throw new KeyturnError('consent_pending', 'wait', { hint: 'look', retryAfter: 2 });
        throw new Error('the refresh token is hunter2');
      },
    });
    const client = await admitted(rig, rig.enrol());
    client.send(request(1, 'a'));
    expect(await client.next()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: {
        code: -32011,
        message: 'wait',
        data: { reason: 'consent_pending', hint: 'look', retryAfter: 2 },
      },
    });
    client.send(request(2, 'b'));
    const answer = await client.next();
    expect(answer).toMatchObject({ id: 2, error: { code: -32603, data: { reason: 'internal' } } });
    expect(JSON.stringify(answer)).not.toContain('hunter2');
  });

  test('may send frames up to 1 MiB, and none beyond', async () => {
    const rig = await startRig({ dispatch: async () => ({}) });
    const client = await admitted(rig, rig.enrol());
    const room = frameLimit - JSON.stringify(request(1, 'a', { text: '' })).length;
    client.send(request(1, 'a', { text: 'x'.repeat(room) }));
    expect(await client.next()).toMatchObject({ id: 1, result: {} });
    client.send(request(2, 'a', { text: 'x'.repeat(room + 1) }));
    expect(await client.refusal()).toBe('frame_invalid');
  });

  test('hears that an answer was too long, instead of nothing', async () => {
    const rig = await startRig({ dispatch: async () => 'x'.repeat(frameLimit) });
    const client = await admitted(rig, rig.enrol());
    client.send(request(1, 'a'));
    expect(await client.next()).toMatchObject({ id: 1, error: { data: { reason: 'frame_invalid' } } });
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

  test('is cut off when it never reads what it asked for', async () => {
    const text = 'x'.repeat(frameLimit / 2);
    const rig = await startRig({ dispatch: async () => text });
    const client = await admitted(rig, rig.enrol());
    client.socket.pause();
    for (let id = 1; id <= 64; id += 1) client.send(request(id, 'a'));
    await rig.seen(({ event }) => event === 'closed');
    expect(rig.server.callers()).toEqual([]);
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

  test('is told what it subscribed to', async () => {
    const rig = await startRig();
    const client = await admitted(rig, rig.enrol());
    rig.server.callers()[0]?.notify('grant.changed', { id: 'a' });
    expect(await client.next()).toEqual({ jsonrpc: '2.0', method: 'grant.changed', params: { id: 'a' } });
  });

  test('gets no answer to a notification', async () => {
    const rig = await startRig();
    const client = await admitted(rig, rig.enrol());
    client.send({ jsonrpc: '2.0', method: 'status' });
    client.send(request(1, 'status'));
    expect(await client.next()).toMatchObject({ id: 1 });
  });

  test('loses every connection when it is removed, a handshake under way included', async () => {
    const rig = await startRig();
    const identity = rig.enrol();
    const other = await admitted(rig, rig.enrol());
    const client = await admitted(rig, identity);
    const halfway = new RawClient(rig.socket);
    halfway.send(helloLine(identity, rig.server.endpoint));
    await halfway.next();
    rig.server.closeConnectionsOf(identity.clientId);
    expect(await client.next()).toBeUndefined();
    expect(await halfway.next()).toBeUndefined();
    other.send(request(1, 'status'));
    expect(await other.next()).toMatchObject({ id: 1 });
  });
});

describe('the socket', () => {
  test('has mode 0600 and goes when the broker stops', async () => {
    const rig = await startRig();
    expect(statSync(rig.socket).mode & 0o777).toBe(0o600);
    const client = await admitted(rig, rig.enrol());
    await rig.stop();
    expect(await client.next()).toBeUndefined();
    expect(statSync(rig.socket, { throwIfNoEntry: false })).toBeUndefined();
  });

  test('refuses another user before it reads a byte', async () => {
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
    client.send(helloLine(rig.enrol(), rig.server.endpoint));
    expect(await client.next()).toBeUndefined();
    expect(asked).toBe(0);
    expect(rig.events).toMatchObject([{ event: 'refused', reason: 'not_permitted' }]);
  });

  test('is not taken from a broker that lives, and is from one that died', async () => {
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
    client.send(helloLine(rig.enrol(), second.endpoint));
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
