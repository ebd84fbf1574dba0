/** How requests wait: for shared work, in the queue of pages, and until their deadline. */
import { describe, expect, it } from 'vitest';
import { PageQueue } from '../../src/broker/sign-in/page-queue.ts';
import { RequestDeadline, DeadlineExceeded } from '../../src/base/request-deadline.ts';
import { SharedWork } from '../../src/base/shared-work.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { HandClock } from './hand-clock.ts';
import { refusal, turnOfEvents } from './rig.ts';

const never = new AbortController().signal;
const interrupted = (): KeyturnError => new KeyturnError('interrupted', 'gone');

describe('shared work', () => {
  /** A run that ends when the test says so. */
  function work() {
    const end = Promise.withResolvers<string>();
    const starts: AbortSignal[] = [];
    const start = (signal: AbortSignal): Promise<string> => {
      starts.push(signal);
      signal.addEventListener('abort', () => end.reject(signal.reason));
      return end.promise;
    };
    return { start, starts, end };
  }

  it('runs once for all callers that wait, and again for the next one', async () => {
    const shared = new SharedWork<string>();
    const { start, starts, end } = work();
    const joined = [shared.join('k', start, never), shared.join('k', start, never)];
    end.resolve('done');
    expect(await Promise.all(joined)).toEqual(['done', 'done']);
    expect(starts).toHaveLength(1);
    await shared.join('k', start, never);
    expect(starts).toHaveLength(2);
  });

  it('continues for the others after an interruption, and ends with the last', async () => {
    const shared = new SharedWork<string>();
    const { start, starts } = work();
    const [one, two] = [new AbortController(), new AbortController()];
    const [first, second] = [
      refusal(shared.join('k', start, one.signal)),
      refusal(shared.join('k', start, two.signal)),
    ];
    one.abort(interrupted());
    expect(await first).toMatchObject({ reason: 'interrupted' });
    expect(starts[0]?.aborted).toBe(false);
    two.abort(interrupted());
    expect(await second).toMatchObject({ reason: 'interrupted' });
    expect(starts[0]?.aborted).toBe(true);
  });

  it('that was cancelled can’t be joined: the next caller gets a run of its own', async () => {
    const shared = new SharedWork<string>();
    const cleaning = Promise.withResolvers<string>();
    const gone = new AbortController();
    const first = refusal(shared.join('k', () => cleaning.promise, gone.signal));
    gone.abort(interrupted());
    await first;
    const second = shared.join('k', async () => 'second', never);
    cleaning.reject(interrupted());
    expect(await second).toBe('second');
  });

  it('that must finish can’t be cancelled, and can be joined', async () => {
    const shared = new SharedWork<string>({ finishes: true });
    const { start, starts, end } = work();
    const gone = new AbortController();
    const first = refusal(shared.join('k', start, gone.signal));
    gone.abort(interrupted());
    await first;
    const second = shared.join('k', start, never);
    end.resolve('done');
    expect(await second).toBe('done');
    expect(starts).toHaveLength(1);
  });
});

describe('the queue of pages', () => {
  it('opens the next page when the one before is done, however it ended', async () => {
    const queue = new PageQueue(() => 0);
    const first = Promise.withResolvers<void>();
    const order: string[] = [];
    const one = refusal(
      queue.run('a', never, async () => {
        order.push('a');
        await first.promise;
      }),
    );
    const two = queue.run('b', never, async () => order.push('b'));
    await turnOfEvents();
    expect(order).toEqual(['a']);
    expect([queue.isQueued('a'), queue.isQueued('b')]).toEqual([false, true]);
    first.reject(new Error('closed'));
    await Promise.all([one, two]);
    expect(order).toEqual(['a', 'b']);
    expect(queue.isQueued('b')).toBe(false);
  });

  it('opens the next page when a sign-in continues without its page', async () => {
    const queue = new PageQueue(() => 0);
    const answer = Promise.withResolvers<void>();
    const one = refusal(
      queue.run('a', never, async (opened, closed) => {
        opened();
        closed();
        await answer.promise;
      }),
    );
    expect(await queue.run('b', never, async () => 'b')).toBe('b');
    expect(queue.isQueued('b')).toBe(false);
    answer.reject(new Error('no'));
    expect(await one).toEqual(new Error('no'));
    expect([queue.needsUser('a'), queue.needsUser('b')]).toEqual([true, false]);
  });

  it('remembers a page that failed until the user acts', async () => {
    const queue = new PageQueue(() => 0);
    await refusal(
      queue.run('a', never, async (opened) => {
        opened();
        throw new Error('closed');
      }),
    );
    expect([queue.needsUser('a'), queue.needsUser('b')]).toEqual([true, false]);
    queue.userActed('a');
    expect(queue.needsUser('a')).toBe(false);
  });

  it('lets a waiting caller leave at once, and skips its place', async () => {
    const queue = new PageQueue(() => 0);
    const first = Promise.withResolvers<void>();
    const one = queue.run('a', never, () => first.promise);
    const gone = new AbortController();
    const opened: string[] = [];
    const two = refusal(queue.run('b', gone.signal, async () => opened.push('b')));
    const three = queue.run('c', never, async () => opened.push('c'));
    gone.abort(interrupted());
    expect(await two).toMatchObject({ reason: 'interrupted' });
    first.resolve();
    await Promise.all([one, three]);
    expect(opened).toEqual(['c']);
  });
});

it('a request deadline rejects with DeadlineExceeded when the time is over', async () => {
  const clock = new HandClock();
  const { signal } = new RequestDeadline(clock, 1000, never);
  clock.advance(999);
  expect(signal.aborted).toBe(false);
  clock.advance(1);
  await expect.poll(() => signal.reason as unknown).toBeInstanceOf(DeadlineExceeded);
});
