/** How long somebody goes on trying while brokers come and go. */
import { expect, it } from 'vitest';
import { KeyturnError, reasonOf, Unreachable } from '../../src/base/errors.ts';
import { retry, takeOver, type Time } from '../../src/client/takeover.ts';

const died = (): Unreachable => new Unreachable('broker_unreachable', 'the broker closed the connection');

/** Passes with each sleep, and with what a test does. */
class SetTime implements Time {
  #now = 0;
  readonly now = (): number => this.#now;
  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.#now += milliseconds;
  }
}

it('trying again throws the first refusal if no try succeeds', async () => {
  const time = new SetTime();
  let tries = 0;
  const attempt = async (): Promise<never> => {
    tries += 1;
    throw tries === 1 ? died() : new KeyturnError('broker_stopping', 'it stops');
  };
  await expect(retry(attempt, { waitAfter: () => 1000, time })).rejects.toThrow('closed the connection');
  tries = 0;
  const waitAfter = (error: unknown) => (reasonOf(error) === 'broker_unreachable' ? 1000 : undefined);
  await expect(retry(attempt, { waitAfter, time })).rejects.toThrow('it stops');
  expect(tries).toBe(2);
});

it('taking over a home has each broker stop that it finds there, and starts then', async () => {
  const done: string[] = [];
  let others = 2;
  const start = async (): Promise<string> => {
    done.push('start');
    if (others > 0) throw new KeyturnError('broker_running', 'another one runs');
    return 'started';
  };
  const stop = async (): Promise<void> => {
    done.push('stop');
    others -= 1;
  };
  expect(await takeOver(start, stop)).toBe('started');
  expect(done).toEqual(['start', 'stop', 'start', 'stop', 'start']);
});
