/** The handshake on the broker's side, attacked with hand-made frames. */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { KeyturnError } from '../../../src/base/errors.ts';
import { brokerTimeout, handshakeFrameLimit, handshakeTimeout } from '../../../src/ipc/wire/limits.ts';
import {
  admitted,
  greeted,
  helloLine,
  proofsFor,
  prove,
  RawClient,
  request,
  startRig,
  startSlowRig,
  type HelloChanges,
  type Rig,
} from '../rig.ts';

/** A hello of an app that is known; the answer has not come yet. */
function saidHello(rig: Rig, changes: HelloChanges = {}) {
  const client = new RawClient(rig.socket);
  const identity = rig.enrol();
  const line = helloLine(identity, rig.server.socketId, changes);
  client.send(line);
  return { client, identity, line };
}

const anyProof = () => randomBytes(32).toString('base64url');

describe('the handshake', () => {
  test('admits a client that proves its key, after the broker proved', async () => {
    const rig = await startRig();
    const { client, identity, proofB, expectedB, proofC } = await greeted(rig);
    expect(proofB).toBe(expectedB);
    client.send(prove(proofC));
    // The first request may follow at once.
    client.send(request(1, 'status', { a: 1 }));
    expect(await client.next()).toEqual({ jsonrpc: '2.0', id: 'p', result: {} });
    expect(await client.next()).toMatchObject({ result: { appId: identity.appId, params: { a: 1 } } });
    expect(rig.server.callers()).toMatchObject([{ appId: identity.appId, role: 'app' }]);
  });

  test('makes another nonce and proof each time for the same hello', async () => {
    const rig = await startRig();
    const { identity, line, answer } = await greeted(rig);
    expect((await greeted(rig, identity, line)).answer?.['result']).not.toEqual(answer?.['result']);
  });

  test('DOOR-1: refuses a whole handshake replayed', async () => {
    const rig = await startRig();
    const { client, identity, line, proofC } = await greeted(rig);
    client.send(prove(proofC));
    expect(await client.next()).toMatchObject({ result: {} });
    const thief = await greeted(rig, identity, line);
    thief.client.send(prove(proofC));
    expect(await thief.client.refusal()).toBe('handshake_failed');
  });

  test("DOOR-1: refuses the broker's own proof reflected", async () => {
    const { client, proofB } = await greeted(await startRig());
    client.send(prove(proofB));
    expect(await client.refusal()).toBe('handshake_failed');
  });

  test('refuses a wrong key, and a second attempt on the connection', async () => {
    const rig = await startRig();
    const { client, identity, line, answer, proofC } = await greeted(rig);
    client.send(prove(proofsFor({ ...identity, key: anyProof() }, line, answer).proofC));
    client.send(prove(proofC));
    expect(await client.refusal()).toBe('handshake_failed');
    expect(rig.server.callers()).toEqual([]);
  });

  test('a wrong proof locks nobody out: the right one works the next moment', async () => {
    const rig = await startRig();
    const identity = rig.enrol();
    for (let i = 0; i < 20; i += 1) {
      const { client } = await greeted(rig, identity);
      client.send(prove(anyProof()));
      expect(await client.refusal()).toBe('handshake_failed');
    }
    await admitted(rig, identity);
    expect(rig.server.callers()).toHaveLength(1);
  });

  test.each<[string, string, HelloChanges]>([
    ['names another socket', 'handshake_failed', { socketId: 'unix:1:2' }],
    ['offers no version that the broker speaks', 'version_unsupported', { versions: [0, 2] }],
    ['has an unknown id', 'unpaired', { appId: 'nobody' }],
  ])('gives no proof to a hello that %s', async (_what, reason, changes) => {
    const rig = await startRig();
    expect(await saidHello(rig, changes).client.refusal()).toBe(reason);
  });

  test('binds the proof to the offered versions', async () => {
    const rig = await startRig();
    const identity = rig.enrol();
    const nonce = anyProof();
    const meant = helloLine(identity, rig.server.socketId, { versions: [2, 1], nonce });
    const sent = helloLine(identity, rig.server.socketId, { versions: [1], nonce });
    const { client, answer } = await greeted(rig, identity, sent);
    const { proofB, expectedB, proofC } = proofsFor(identity, meant, answer);
    expect(proofB).not.toBe(expectedB);
    client.send(prove(proofC));
    expect(await client.refusal()).toBe('handshake_failed');
  });

  test('answers `locked` while the keys cannot be read', async () => {
    const keyFor = async () => Promise.reject(new KeyturnError('locked', 'the vault is locked'));
    const rig = await startRig({ keyFor });
    expect(await saidHello(rig).client.refusal()).toBe('locked');
  });

  test('does not admit a client whose pairing failed', async () => {
    const confirmPaired = async () => Promise.reject(new KeyturnError('unpaired', 'too late'));
    const rig = await startRig({ confirmPaired });
    const { client, proofC } = await greeted(rig);
    client.send(prove(proofC));
    expect(await client.refusal()).toBe('unpaired');
    expect(rig.server.callers()).toEqual([]);
  });
});

describe('before the handshake', () => {
  test.each([
    ['a request', request(1, 'token.get', { resource: 'https://a.example' })],
    ['a proof first', prove(anyProof())],
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

  test.each([
    ['a request', () => JSON.stringify(request(1, 'status'))],
    ['a second hello', (line: string) => line],
    ['a pairing', (line: string) => line.replace('"hello","params":{', '"pair","params":{"name":"x",')],
    ['a notification', () => '{"jsonrpc":"2.0","method":"authenticate","params":{}}'],
    ['a proof without fields', () => JSON.stringify(request(2, 'authenticate'))],
    ['a proof of 31 bytes', () => JSON.stringify(prove(randomBytes(31).toString('base64url')))],
    ['a proof with padding', () => JSON.stringify(prove(`${randomBytes(32).toString('base64url')}=`))],
  ])('DOOR-1: refuses %s after the hello', async (_name, second) => {
    const rig = await startRig();
    const { client, line } = await greeted(rig);
    client.send(second(line));
    expect(await client.refusal()).toBe('handshake_failed');
    expect(rig.server.callers()).toEqual([]);
  });

  test('refuses two proofs that were exchanged between two connections of one client', async () => {
    const rig = await startRig();
    const one = await greeted(rig);
    const two = await greeted(rig, one.identity, one.line);
    one.client.send(prove(two.proofC));
    two.client.send(prove(one.proofC));
    for (const { client } of [one, two]) expect(await client.refusal()).toBe('handshake_failed');
  });

  test('DOOR-1: does not answer a hello that is cut short anywhere, and forgets it', async () => {
    const rig = await startRig();
    const line = helloLine(rig.enrol(), rig.server.socketId);
    for (let length = 0; length <= line.length; length += 7) {
      const client = new RawClient(rig.socket);
      client.socket.end(line.slice(0, length));
      expect(await client.next()).toBeUndefined();
      // Not so many that this process is slowed for them.
      rig.clock.turn(1000);
    }
    expect(new Set(rig.events.map(({ event }) => event))).toEqual(new Set(['closed']));
    await admitted(rig, rig.enrol());
    expect(rig.server.callers()).toHaveLength(1);
  });

  test('gives a hello that comes byte by byte no more time than another', async () => {
    const rig = await startRig();
    const client = new RawClient(rig.socket);
    const line = helloLine(rig.enrol(), rig.server.socketId);
    for (const byte of line.slice(0, 5)) {
      client.socket.write(byte);
      // Another client's answer shows that the broker has had its turn.
      const other = new RawClient(rig.socket);
      other.send(line);
      await other.next();
      other.socket.destroy();
      rig.clock.turn(handshakeTimeout / 5);
    }
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

  test('DOOR-1: closes on a frame that grows beyond 16 KiB without an end', async () => {
    const client = new RawClient((await startRig()).socket);
    client.socket.write('x'.repeat(handshakeFrameLimit + 1));
    expect(await client.refusal()).toBe('frame_invalid');
  });

  test('DOOR-1: closes a handshake whose client takes longer than five seconds', async () => {
    const rig = await startRig();
    const { client } = await greeted(rig);
    rig.clock.turn(handshakeTimeout - 1);
    client.send('{"half":');
    rig.clock.turn(1);
    expect(await client.refusal()).toBe('handshake_failed');
  });

  test('does not count the time that the broker waits for its vault', async () => {
    const { rig, asked, open } = await startSlowRig();
    const { client, identity, line } = saidHello(rig);
    await asked;
    rig.clock.turn(brokerTimeout - 1);
    open();
    const { proofC } = proofsFor(identity, line, await client.next());
    rig.clock.turn(handshakeTimeout - 1);
    client.send(prove(proofC));
    expect(await client.next()).toMatchObject({ id: 'p', result: {} });
  });

  test('counts what the client took before and after the broker’s own time as one', async () => {
    const { rig, asked, open } = await startSlowRig();
    const identity = rig.enrol();
    const client = new RawClient(rig.socket);
    const line = helloLine(identity, rig.server.socketId);
    client.socket.write(line.slice(0, 5));
    // Another client's refusal shows that the broker has accepted both.
    const other = new RawClient(rig.socket);
    other.send('GET / HTTP/1.1');
    await other.refusal();
    rig.clock.turn(handshakeTimeout - 1);
    client.send(line.slice(5));
    await asked;
    rig.clock.turn(handshakeTimeout);
    open();
    await client.next();
    rig.clock.turn(1);
    expect(await client.refusal()).toBe('handshake_failed');
  });

  test('ends a handshake for which the vault never answers', async () => {
    const { rig, asked } = await startSlowRig();
    const { client } = saidHello(rig);
    await asked;
    rig.clock.turn(brokerTimeout);
    expect(await client.refusal()).toBe('vault_unavailable');
  });

  test('lets an admitted client stay as long as it likes', async () => {
    const rig = await startRig();
    const client = await admitted(rig, rig.enrol());
    rig.clock.turn(10 * handshakeTimeout);
    client.send(request(1, 'status'));
    expect(await client.next()).toMatchObject({ id: 1, result: { method: 'status' } });
  });
});
