/** When an approval from a window counts. */
import { beforeEach, describe, expect, it } from 'vitest';
import { CardGuard, minKeyTime, minViewTime, maxPressAge } from '../../electron/windows/card-guard.ts';

let now: number;
let guard: CardGuard;

const pass = (milliseconds: number): void => void (now += milliseconds);
const refusal = { reason: 'not_permitted' };

beforeEach(() => {
  now = 10_000;
  guard = new CardGuard(() => now);
  guard.setAttentive(true);
  guard.cardShown(['q1']);
});

/** A press after so long. */
function press(after = minViewTime, type = 'mouseDown', modifiers: string[] = []): void {
  pass(after);
  guard.input(type, modifiers);
}

describe('a card that was before the user', () => {
  it.each([
    ['mouseDown', minViewTime],
    ['touchStart', minViewTime],
    ['gestureTap', minViewTime],
    ['rawKeyDown', minKeyTime],
    ['keyDown', minKeyTime],
  ])('can be approved once by %s, when it was there for %i ms', (type, after) => {
    press(after, type);
    expect(() => guard.approveCard(['q1'])).not.toThrow();
    expect(() => guard.approveCard(['q1'])).toThrow(expect.objectContaining(refusal));
  });

  it.each(['mouseMove', 'mouseUp', 'mouseWheel', 'keyUp', 'char', 'undefined'])(
    'takes %s for none',
    (type) => {
      press(minViewTime, type);
      expect(() => guard.approveCard(['q1'])).toThrow(/No key or button/);
    },
  );
});

describe('an approval does not count', () => {
  const spoilt: Record<string, () => void> = {
    'when nobody pressed anything': () => pass(minViewTime),
    'when the card was there for less than half a second': () => press(minViewTime - 1),
    'when the press came before the half second was over': () => {
      press(minViewTime - 1);
      pass(10);
    },
    'when the card came to show something else since': () => {
      pass(minViewTime);
      guard.cardShown(['q1']);
      press(0);
    },
    'when a key was pressed in its first second': () => {
      press(999, 'rawKeyDown');
      pass(10);
    },
    'when a key was only held down': () => press(minKeyTime, 'rawKeyDown', ['isautorepeat']),
    'when the press is long past': () => {
      press();
      pass(maxPressAge + 1);
    },
    'when the window lost the focus in between': () => {
      pass(minViewTime);
      guard.setAttentive(false);
      guard.setAttentive(true);
      press(0);
    },
    'when the window is not in front now': () => {
      press();
      guard.setAttentive(false);
    },
    'when another card took its place': () => {
      pass(minViewTime);
      guard.cardShown(['q2']);
      press(0);
    },
    'when the card came back only now': () => {
      pass(minViewTime);
      guard.cardShown(['q2']);
      guard.cardShown(['q1']);
      press(0);
    },
    'when the page was loaded anew': () => {
      press();
      guard.pageChanged();
    },
  };
  it.each(Object.entries(spoilt))('%s', (_when, happens) => {
    happens();
    expect(() => guard.approveCard(['q1'])).toThrow(expect.objectContaining(refusal));
  });

  it('is refused with a rule and what to do', () => {
    expect(() => guard.approveCard(['q1'])).toThrow(
      expect.objectContaining({ hint: expect.any(String), rule: expect.stringContaining('500 ms') }),
    );
  });
});

describe('a card of several questions', () => {
  it('is approved by one press, for those that it showed and for no other', () => {
    guard.cardShown(['q1', 'q2', 'q3']);
    press();
    expect(() => guard.approveCard(['q1', 'q4'])).toThrow(/not on the screen/);
    expect(() => guard.approveCard(['q1', 'q3'])).not.toThrow();
    expect(() => guard.approveCard(['q2'])).toThrow(expect.objectContaining(refusal));
  });

  it('has to be looked at anew once it shows one more', () => {
    press();
    guard.cardShown(['q1', 'q2']);
    expect(() => guard.approveCard(['q1'])).toThrow(/too short/);
    pass(minViewTime);
    // The press was for what stood there before.
    expect(() => guard.approveCard(['q1'])).toThrow(/No key or button/);
  });
});

it('what widens without a request needs the window in front and a press', () => {
  expect(() => guard.approve()).toThrow(/too short/);
  pass(minViewTime);
  expect(() => guard.approve()).toThrow(/No key or button/);
  guard.input('keyDown');
  expect(() => guard.approve()).not.toThrow();
});
