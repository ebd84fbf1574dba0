/** How requests wait: for shared work, in the queue of pages, and until their deadline. */
import { describe, expect, it } from 'vitest';
import { PageQueue } from '../../src/broker/sign-in/page-queue.ts';
import { requestDeadline, DeadlineExceeded } from '../../src/base/request-deadline.ts';
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

  it('shared work runs once for all callers that wait, and again for the next one', async () => {
    const shared = new SharedWork<string>();
    const { start, starts, end } = work();
    const joined = [shared.join('k', start, never), shared.join('k', start, never)];
    end.resolve('done');
    expect(await Promise.all(joined)).toEqual(['done', 'done']);
    expect(starts).toHaveLength(1);
    await shared.join('k', start, never);
    expect(starts).toHaveLength(2);
  });

  it('shared work fails for all callers that wait, and is forgotten', async () => {
    const shared = new SharedWork<string>();
    const { start, end } = work();
    const joined = [refusal(shared.join('k', start, never)), refusal(shared.join('k', start, never))];
    end.reject(new Error('failed'));
    expect(await Promise.all(joined)).toEqual([new Error('failed'), new Error('failed')]);
    expect(await shared.join('k', async () => 'again', never)).toBe('again');
  });

  it('shared work goes on for the others when one caller is interrupted, and is cancelled with the last', async () => {
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

  it('shared work goes on after a time-out, even when another caller is interrupted later', async () => {
    const shared = new SharedWork<string>();
    const { start, starts, end } = work();
    const [one, two] = [new AbortController(), new AbortController()];
    const first = refusal(shared.join('k', start, one.signal));
    one.abort(new DeadlineExceeded());
    expect(await first).toBeInstanceOf(DeadlineExceeded);
    const second = refusal(shared.join('k', start, two.signal));
    two.abort(interrupted());
    await second;
    expect(starts).toHaveLength(1);
    expect(starts[0]?.aborted).toBe(false);
    end.resolve('late');
    expect(await shared.join('k', start, never)).toBe('late');
  });

  it('shared work that was cancelled can’t be joined: the next caller gets a run of its own', async () => {
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

  it('shared work that must finish can’t be cancelled, and can be joined', async () => {
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

  it('shared work says whether any caller still waits', async () => {
    const shared = new SharedWork<boolean>();
    const look = Promise.withResolvers<void>();
    const seen: boolean[] = [];
    const late = new AbortController();
    const joined = refusal(
      shared.join(
        'k',
        async (_signal, isAwaited) => {
          await turnOfEvents();
          seen.push(isAwaited());
          await look.promise;
          seen.push(isAwaited());
          return true;
        },
        late.signal,
      ),
    );
    await expect.poll(() => seen).toEqual([true]);
    late.abort(new DeadlineExceeded());
    await joined;
    look.resolve();
    await expect.poll(() => seen).toEqual([true, false]);
  });

  it('shared work is not started for a caller that has already gone away', async () => {
    const { start, starts } = work();
    await refusal(new SharedWork<string>().join('k', start, AbortSignal.abort(interrupted())));
    expect(starts).toEqual([]);
  });
});

describe('the queue of pages', () => {
  it('the queue of pages opens the next page when the one before is done, however it ended', async () => {
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

  it('the queue of pages opens the next page when a sign-in goes on without its page, and counts how that sign-in ends', async () => {
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

  it('the queue of pages remembers a page that failed until the user acts', async () => {
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

  it('the queue of pages does not blame the person for a page that never opened, or was withdrawn', async () => {
    const queue = new PageQueue(() => 0);
    await refusal(queue.run('a', never, () => Promise.reject(new Error('no network'))));
    const gone = new AbortController();
    await refusal(
      queue.run('a', gone.signal, async (opened) => {
        opened();
        gone.abort();
        throw new Error('gone');
      }),
    );
    expect(queue.needsUser('a')).toBe(false);
  });

  it('the queue of pages lets a waiting caller leave at once, and skips its place', async () => {
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

describe('a request deadline', () => {
  it('a request deadline rejects with DeadlineExceeded when the time is over', async () => {
    const clock = new HandClock();
    const { signal } = requestDeadline(clock, 1000, never);
    clock.advance(999);
    expect(signal.aborted).toBe(false);
    clock.advance(1);
    await expect.poll(() => signal.reason as unknown).toBeInstanceOf(DeadlineExceeded);
  });

  it('a request deadline ends with the program that asked, as an interruption', () => {
    const program = new AbortController();
    const { signal } = requestDeadline(new HandClock(), 1000, program.signal);
    program.abort();
    expect(signal.reason).toMatchObject({ reason: 'interrupted' });
    const late = requestDeadline(new HandClock(), 1000, program.signal);
    expect(late.signal.reason).toMatchObject({ reason: 'interrupted' });
  });

  it('a request deadline starts no timer for a request that never waits', () => {
    const clock = new HandClock();
    const waiting = requestDeadline(clock, 1000, never);
    expect(clock.sleepers).toBe(0);
    expect(waiting.signal.aborted).toBe(false);
    expect(clock.sleepers).toBe(1);
  });

  it('a request deadline leaves nothing behind once the request is answered', async () => {
    const clock = new HandClock();
    const program = new AbortController();
    const waiting = requestDeadline(clock, 1000, program.signal);
    expect(waiting.signal.aborted).toBe(false);
    waiting.end();
    clock.advance(1000);
    program.abort();
    await turnOfEvents();
    expect(waiting.signal.aborted).toBe(false);
  });
});
