/** The reported state of the vault, and when it may be asked again. */
import { describe, expect, test } from 'vitest';
import { VaultError, type VaultErrorKind } from '../../../src/vault/base/trouble.ts';
import { VaultWatch } from '../../../src/vault/base/watch.ts';
import { HandClock } from '../../broker/hand-clock.ts';

function watched(): { clock: HandClock; watch: VaultWatch } {
  const clock = new HandClock();
  return { clock, watch: new VaultWatch(() => clock.now()) };
}

const trouble = (kind: VaultErrorKind, item?: string): VaultError =>
  new VaultError(kind, `it is ${kind}`, { hint: 'do something', ...(item === undefined ? {} : { item }) });

/** Seconds until the keychain may be asked; 0: now. */
function pause(watch: VaultWatch): number {
  try {
    watch.mayAsk();
    return 0;
  } catch (error) {
    return error instanceof VaultError ? (error.retryAfter ?? NaN) : NaN;
  }
}

describe('the state of the vault', () => {
  test.each(['keychainLocked', 'waiting', 'absent', 'crashed', 'full'] as const)(
    'the vault is %s, with message, hint and start time, until the next call succeeds',
    (kind) => {
      const { watch, clock } = watched();
      watch.passed('read', 'grant.1');
      clock.advance(1000);
      const since = clock.now();
      watch.failed(trouble(kind));
      clock.advance(1000);
      watch.failed(trouble(kind));
      expect(watch.state).toEqual({ state: kind, since, what: `it is ${kind}`, hint: 'do something' });
      watch.passed('write', 'grant.1');
      expect(watch.state).toMatchObject({ state: 'open', since: clock.now() });
    },
  );

  test('with a damaged item stays damaged until that item is whole again', () => {
    const { watch } = watched();
    watch.failed(trouble('damaged', 'grant.1'));
    watch.passed('write', 'grant.2');
    expect(watch.state).toMatchObject({ state: 'damaged', what: 'it is damaged' });
    watch.passed('write', 'grant.1');
    expect(watch.state.state).toBe('open');
  });
});

describe('the pause between questions to a user', () => {
  test('doubles from 5 s to 5 min, each time that nobody answers', () => {
    const { watch, clock } = watched();
    const pauses = Array.from({ length: 9 }, () => {
      watch.refused(trouble('waiting'));
      const seconds = pause(watch);
      clock.advance(seconds * 1000);
      expect(pause(watch)).toBe(0);
      return seconds;
    });
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  test('ends when a user acts, grows if that attempt fails too, and ends with an answer of the keychain', () => {
    const { watch } = watched();
    watch.refused(trouble('waiting'));
    watch.endPause();
    expect(pause(watch)).toBe(0);
    watch.refused(trouble('waiting'));
    watch.passed('read', 'item of a folder');
    expect([pause(watch), watch.state.state]).toEqual([10, 'waiting']);
    watch.answered(1);
    watch.passed('read', 'newest');
    expect([pause(watch), watch.state.state]).toEqual([0, 'open']);
  });
});
