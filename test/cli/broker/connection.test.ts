/** How long a command asks again while brokers die under it. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { throughRestart } from '../../../src/cli/broker/connection.ts';
import { Unreachable } from '../../../src/base/errors.ts';

const died = (): Unreachable => new Unreachable('broker_unreachable', 'the broker closed the connection');

describe('a command whose broker dies', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  /** Each broker serves for `seconds`, until the last one answers. */
  async function beside(deaths: number, isReached: boolean, seconds = 10): Promise<string> {
    let left = deaths;
    return throughRestart(async (reached) => {
      if (isReached) reached();
      vi.setSystemTime(Date.now() + seconds * 1000);
      if (left === 0) return 'answered';
      left -= 1;
      throw died();
    });
  }

  it('waits anew for each broker that it reached', async () => {
    expect(await beside(4, true)).toBe('answered');
  });

  it('gives up 15 seconds after the first refusal where it reaches none', async () => {
    await expect(beside(4, false)).rejects.toMatchObject({ reason: 'broker_unreachable' });
  });

  it('gives up after five minutes, whatever it reached', async () => {
    await expect(beside(6, true, 60)).rejects.toMatchObject({ reason: 'broker_unreachable' });
  });
});
