/** Work under one key never overlaps; other keys don't wait. */
import { expect, test } from 'vitest';
import { turns } from '../../../src/vault/base/turns.ts';

test('starts the next piece of work under a key only when the one before has ended', async () => {
  const turn = turns();
  const gate = Promise.withResolvers<void>();
  const seen: string[] = [];
  const first = turn('k', async () => {
    seen.push('first begins');
    await gate.promise;
    seen.push('first ends');
  });
  const second = turn('k', async () => void seen.push('second'));
  await turn('other', async () => void seen.push('other'));
  gate.resolve();
  await Promise.all([first, second]);
  expect(seen).toEqual(['first begins', 'other', 'first ends', 'second']);
});

test('goes on after a piece of work that failed', async () => {
  const turn = turns();
  const failing = turn('k', () => Promise.reject(new Error('broken')));
  const next = turn('k', async () => 'done');
  await expect(failing).rejects.toThrow('broken');
  expect(await next).toBe('done');
});
