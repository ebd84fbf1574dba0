/** Waits that end with an abort. */
import { expect, it } from 'vitest';
import { untilAborted } from '../../src/base/abort.ts';

it('a wait until an abort ends as the work does, or with the reason of an abort before', async () => {
  const caller = new AbortController();
  expect(await untilAborted(Promise.resolve('done'), caller.signal)).toBe('done');
  const failed = untilAborted(Promise.reject(new Error('broken')), caller.signal);
  await expect(failed).rejects.toThrow('broken');
  const waiting = untilAborted(new Promise(() => undefined), caller.signal);
  const reason = new Error('the caller left');
  caller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});
