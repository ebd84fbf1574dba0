/** Work under one key never overlaps; other keys don't wait. */
import { expect, test } from 'vitest';
import { keyedMutex } from '../../src/base/mutex.ts';

test('starts the next piece of work under a key only when the one before has ended', async () => {
  const run = keyedMutex();
  const gate = Promise.withResolvers<void>();
  const seen: string[] = [];
  const first = run('k', async () => {
    seen.push('first begins');
    await gate.promise;
    seen.push('first ends');
  });
  const second = run('k', async () => void seen.push('second'));
  await run('other', async () => void seen.push('other'));
  gate.resolve();
  await Promise.all([first, second]);
  expect(seen).toEqual(['first begins', 'other', 'first ends', 'second']);
});

test('goes on after a piece of work that failed', async () => {
  const run = keyedMutex();
  const failing = run('k', () => Promise.reject(new Error('broken')));
  const next = run('k', async () => 'done');
  await expect(failing).rejects.toThrow('broken');
  expect(await next).toBe('done');
});
