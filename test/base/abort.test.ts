/** Waits that end with an abort. */
import { describe, expect, it } from 'vitest';
import { untilAborted } from '../../src/base/abort.ts';

const reason = new Error('the caller left');

describe('waiting until an abort', () => {
  it('a wait until an abort resolves with the result of work that ends first', async () => {
    const caller = new AbortController();
    expect(await untilAborted(Promise.resolve('done'), caller.signal)).toBe('done');
    const failed = untilAborted(Promise.reject(new Error('broken')), caller.signal);
    await expect(failed).rejects.toThrow('broken');
  });

  it('a wait rejects with the reason of the abort, even if the work never ends', async () => {
    const caller = new AbortController();
    const waiting = untilAborted(new Promise(() => undefined), caller.signal);
    caller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});
