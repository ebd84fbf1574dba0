/** One answer at the terminal for several entries: it gives what its question named, and takes nothing back. */
import { expect, it } from 'vitest';
import { type Asked, isDenied, verdictOn } from '../../../src/cli/apps/prompts.ts';

/** `pair` for a pairing, what its question names besides, the account and the scopes. */
function about(text: string): Asked {
  const [kind, gives, account, scope] = text.split(' ');
  return { words: '', isPairing: kind === 'pair', gives: gives as Asked['gives'], account, scope };
}

it.each([
  ['allow token A read', 'approve allow token B read', undefined],
  ['allow token A admin', 'approve allow token A read', undefined],
  ['allow apiKey', 'approve allow token', undefined],
  ['allow token A read', 'approve pair token', 'approve'],
  ['pair token', 'approve pair pairing, deny allow token A', 'approve'],
  ['allow token B', 'approve pair pairing, deny allow token A', 'deny'],
  ['pair token', 'deny pair pairing', 'deny'],
] as const)('%s, after %s: %s', (asked, before, verdict) => {
  const answers = before.split(', ').map((text) => {
    const [given, ...rest] = text.split(' ');
    return { ...about(rest.join(' ')), verdict: given as 'approve' | 'deny' };
  });
  expect(verdictOn(about(asked), { answers })).toBe(verdict);
  expect(isDenied({ answers })).toBe(before.startsWith('deny'));
});
