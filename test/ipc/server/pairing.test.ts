/** The queue in which programs without a key wait for the owner's answer. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { KeyturnError } from '../../../src/base/errors.ts';
import type { NewPairing, PairRequest } from '../../../src/ipc/server/pairing.ts';
import { homeId, RawClient, startRig } from '../rig.ts';

interface Card {
  readonly request: PairRequest;
  yes(paired: NewPairing): void;
  answer(make: () => Promise<NewPairing>): void;
  no(): void;
}

/** A rig whose owner answers cards by hand. */
async function rigWithCards() {
  const cards: Card[] = [];
  let made = 0;
  const rig = await startRig({
    pair: async (request) => {
      const { promise, resolve, reject } = Promise.withResolvers<() => Promise<NewPairing>>();
      const yes = (paired: NewPairing) =>
        resolve(async () => {
          made += 1;
          return paired;
        });
      cards.push({ request, yes, answer: resolve, no: () => reject(new KeyturnError('pairing_denied', '')) });
      return promise;
    },
  });
  const client = (name = 'editor', ticket?: string) => {
    const raw = new RawClient(rig.socket);
    const params = { versions: [1], name, socketId: rig.server.socketId, ticket };
    raw.send({ jsonrpc: '2.0', id: 1, method: 'pair', params });
    return raw;
  };
  return { rig, cards, client, made: () => made };
}

const newTicket = (): string => randomBytes(32).toString('base64url');

const paired = (): NewPairing => ({ appId: 'abc', key: createSecretKey(randomBytes(32)) });

describe('a pairing', () => {
  test('shows the same six digits to program and owner, and answers with the key', async () => {
    const { cards, client } = await rigWithCards();
    const program = client();
    const notice = await program.next();
    expect(notice).toMatchObject({ method: 'pair.code', params: { code: cards[0]?.request.code } });
    expect(cards[0]?.request.code).toMatch(/^[0-9]{6}$/);
    expect(cards[0]?.request.name).toBe('editor');
    const yes = paired();
    cards[0]?.yes(yes);
    const key = yes.key.export().toString('base64url');
    expect(await program.next()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { appId: 'abc', key, brokerId: homeId },
    });
    expect(await program.next()).toBeUndefined();
  });

  test('may outlast the five seconds of a handshake, but ends after two minutes', async () => {
    const { rig, cards, client } = await rigWithCards();
    const program = client();
    await program.next();
    rig.clock.turn(119_999);
    expect(cards[0]?.request.signal.aborted).toBe(false);
    rig.clock.turn(1);
    expect(cards[0]?.request.signal.aborted).toBe(true);
    expect(await program.refusal()).toBe('pairing_denied');
  });

  test('withdraws its card when the program leaves', async () => {
    const { cards, client } = await rigWithCards();
    const program = client();
    await program.next();
    const { promise, resolve } = Promise.withResolvers<void>();
    cards[0]?.request.signal.addEventListener('abort', () => resolve());
    program.socket.destroy();
    await promise;
  });

  test('must wait after each refusal, twice as long each time, even under another name', async () => {
    const { rig, cards, client } = await rigWithCards();
    for (const seconds of [1, 2, 4]) {
      const program = client();
      await program.next();
      cards.at(-1)?.no();
      expect(await program.refusal()).toBe('pairing_denied');
      const answer = await client('another').next();
      expect(answer).toMatchObject({ error: { data: { reason: 'rate_limited', retryAfter: seconds } } });
      rig.clock.turn(seconds * 1000);
    }
    const program = client();
    await program.next();
    cards.at(-1)?.yes(paired());
    expect(await program.next()).toHaveProperty('result');
  });

  test('with a ticket keeps card and code when the program leaves', async () => {
    const { rig, cards, client, made } = await rigWithCards();
    const [ticket, other] = [newTicket(), newTicket()];
    const first = client('editor', ticket);
    const { params } = { ...(await first.next()) };
    first.socket.destroy();
    await rig.seen(({ event }) => event === 'closed');
    rig.clock.turn(599_000);
    expect(cards[0]?.request.signal.aborted).toBe(false);
    expect(cards[0]?.request.isOpen()).toBe(false);

    cards[0]?.yes(paired());
    await setImmediate();
    // The answer is kept for who shows the ticket. Before that, nothing is made.
    rig.clock.turn(599_000);
    expect(made()).toBe(0);
    const waiting = [client('editor', ticket), client('editor', ticket)];
    for (const program of waiting) expect(await program.next()).toMatchObject({ params });
    const answers = await Promise.all(waiting.map((program) => program.next()));
    expect(answers[0]).toHaveProperty('result.appId', 'abc');
    expect(answers[1]).toEqual(answers[0]);
    expect([cards.length, made()]).toEqual([1, 1]);
    // A key that was taken may have been removed since: then it is asked again.
    rig.clock.turn(30_000);
    for (const [name, shown] of [
      ['editor', ticket],
      ['editor', other],
      ['another', ticket],
    ] as const)
      expect(await client(name, shown).next()).toMatchObject({ method: 'pair.code' });
    expect(cards).toHaveLength(4);
  });

  test('is refused if it was meant for another socket', async () => {
    const { rig, cards } = await rigWithCards();
    const program = new RawClient(rig.socket);
    const params = { versions: [1], name: 'editor', socketId: 'unix:1:2' };
    program.send({ jsonrpc: '2.0', id: 1, method: 'pair', params });
    expect(await program.refusal()).toBe('handshake_failed');
    expect(cards).toHaveLength(0);
  });
});
