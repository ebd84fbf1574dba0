/** When a server that could not serve is asked again. */
import { describe, expect, it } from 'vitest';
import { ServerRests } from '../../../src/broker/tokens/server-rests.ts';
import { KeyturnError, Unreachable } from '../../../src/base/errors.ts';
import { refusal } from '../rig.ts';

const down = (retryAfter?: number): Unreachable =>
  new Unreachable(
    'authorization_server_unreachable',
    'It is down.',
    retryAfter === undefined ? {} : { retryAfter },
  );

interface Failing {
  readonly error?: Error;
  readonly isByPerson?: boolean;
}

function world() {
  let now = 0;
  let tries = 0;
  const rests = new ServerRests(() => now);
  const fail = (what: string, { error = down(), isByPerson = false }: Failing = {}): Promise<unknown> =>
    refusal(
      rests.ask({ what, isByPerson }, async () => {
        tries += 1;
        throw error;
      }),
    );
  return { rests, fail, later: (ms: number) => (now += ms), tries: () => tries };
}

describe('a server that could not serve', () => {
  it('a server that could not serve is asked again once its pause is over, and a success ends all its pauses', async () => {
    const { rests, fail, later, tries } = world();
    await fail('a', { error: down(30) });
    expect(await fail('a')).toMatchObject({ reason: 'authorization_server_unreachable', retryAfter: 30 });
    expect(tries()).toBe(1);
    later(30_000);
    const asking = { what: 'a', isByPerson: false };
    expect(await rests.ask(asking, async () => 'served')).toBe('served');
    expect(await rests.ask(asking, async () => 'again')).toBe('again');
  });

  it('a server that could not serve delays no request to another server', async () => {
    const { fail, tries } = world();
    await fail('a', { error: down(30) });
    await fail('b');
    expect(tries()).toBe(2);
  });

  it('a server gets no pause after a refusal that has another cause', async () => {
    const { fail, tries } = world();
    const others = [
      new KeyturnError('metadata_invalid', 'No.'),
      new Unreachable('broker_stopping', 'It stops.'),
      new Error('a fault'),
    ];
    for (const error of others) expect(await fail('a', { error })).toBe(error);
    expect(tries()).toBe(others.length);
  });

  it('M-8: a server that could not serve is asked at once after the machine woke up, unless it asked to wait', async () => {
    const { rests, fail, later, tries } = world();
    await fail('a');
    await fail('b', { error: down(30) });
    later(1);
    rests.wake();
    await fail('a');
    await fail('b');
    expect(tries()).toBe(3);
  });

  it('a server that could not serve pauses the whole operation as long as the step within it, and the error says so once', async () => {
    const { rests, fail, later, tries } = world();
    const whole = (what: string): Promise<unknown> =>
      refusal(
        rests.ask({ what, isByPerson: false }, () =>
          rests.ask({ what: 'a', isByPerson: false }, async () => 1),
        ),
      );
    await fail('a', { error: down(30) });
    later(10_000);
    for (const what of ['one', 'other', 'one']) {
      const error = await whole(what);
      expect(error).toMatchObject({ retryAfter: 20 });
      expect(String(error).match(/a moment ago/g)).toHaveLength(1);
    }
    later(20_000);
    expect(tries()).toBe(1);
    const asking = { what: 'one', isByPerson: false };
    expect(await rests.ask(asking, async () => 'served')).toBe('served');
  });

  it('a server that could not serve is asked at any time for a person, but only once in ten seconds if it asked to wait', async () => {
    const { fail, later, tries } = world();
    await fail('a');
    for (let press = 0; press < 3; press += 1) await fail('a', { isByPerson: true });
    expect(tries()).toBe(4);
    await fail('b', { error: down(3600) });
    for (let press = 0; press < 3; press += 1) await fail('b', { isByPerson: true, error: down(3600) });
    // The program's try doesn't delay the person's first one.
    expect(tries()).toBe(6);
    later(10_000);
    for (let press = 0; press < 3; press += 1) await fail('b', { isByPerson: true, error: down(3600) });
    expect(tries()).toBe(7);
  });

  it('a server that could not serve is forgotten if more servers fail than are remembered', async () => {
    const { fail, tries } = world();
    for (let server = 0; server < 300; server += 1) await fail(`server ${server}`, { error: down(30) });
    await fail('server 0');
    await fail('server 299');
    expect(tries()).toBe(301);
  });

  it('a server that could not serve gets the pause of a first failure if its last one is long ago', async () => {
    const { fail, later } = world();
    for (let times = 0; times < 8; times += 1) {
      await fail('a');
      later(300_000);
    }
    later(600_001);
    // The next failure clears the entries that are over.
    await fail('b');
    expect(await fail('a')).toMatchObject({ retryAfter: 1 });
  });
});
