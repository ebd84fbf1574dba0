/** When a server that could not serve is asked again. */
import { describe, expect, it } from 'vitest';
import { ServerRests } from '../../../src/broker/tokens/server-rests.ts';
import { Unreachable } from '../../../src/base/errors.ts';
import { refusal } from '../rig.ts';

const down = (retryAfter?: number): Unreachable =>
  new Unreachable('authorization_server_unreachable', '', retryAfter === undefined ? {} : { retryAfter });

function world() {
  let now = 0;
  let tries = 0;
  const rests = new ServerRests(() => now);
  const fail = (what: string, error = down()): Promise<unknown> =>
    refusal(
      rests.ask({ what, isByUser: false }, async () => {
        tries += 1;
        throw error;
      }),
    );
  return { rests, fail, later: (ms: number) => (now += ms), tries: () => tries };
}

describe('a server that could not serve', () => {
  it('M-8: is asked at once after the machine woke up, unless it asked to wait', async () => {
    const { rests, fail, later, tries } = world();
    await fail('a');
    await fail('b', down(30));
    later(1);
    rests.wake();
    await fail('a');
    await fail('b');
    expect(tries()).toBe(3);
  });

  it('pauses the whole operation as long as the step within it', async () => {
    const { rests, fail, later, tries } = world();
    const whole = (what: string): Promise<unknown> =>
      refusal(
        rests.ask({ what, isByUser: false }, () => rests.ask({ what: 'a', isByUser: false }, async () => 1)),
      );
    await fail('a', down(30));
    later(10_000);
    for (const what of ['one', 'other', 'one']) {
      const error = await whole(what);
      expect(error).toMatchObject({ retryAfter: 20 });
      expect(String(error).match(/a moment ago/g)).toHaveLength(1);
    }
    later(20_000);
    expect(tries()).toBe(1);
    const asking = { what: 'one', isByUser: false };
    expect(await rests.ask(asking, async () => 'served')).toBe('served');
  });
});
