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

describe('a card that was before the user', () => {
  it('can be approved by a press, once', () => {
    pass(minViewTime);
    guard.input('mouseDown');
    expect(() => guard.approveCard(['q1'])).not.toThrow();
    expect(() => guard.approveCard(['q1'])).toThrow(expect.objectContaining(refusal));
  });

  it.each(['touchStart', 'gestureTap'])('takes %s for a press', (type) => {
    pass(minViewTime);
    guard.input(type);
    expect(() => guard.approveCard(['q1'])).not.toThrow();
  });

  it.each(['rawKeyDown', 'keyDown'])('takes %s for a press once it was there for a second', (type) => {
    pass(minKeyTime);
    guard.input(type);
    expect(() => guard.approveCard(['q1'])).not.toThrow();
  });

  it.each(['mouseMove', 'mouseUp', 'mouseWheel', 'keyUp', 'char', 'undefined'])(
    'takes %s for none',
    (type) => {
      pass(minViewTime);
      guard.input(type);
      expect(() => guard.approveCard(['q1'])).toThrow(/No key or button/);
    },
  );
});

describe('an approval does not count', () => {
  const spoilt: Record<string, () => void> = {
    'when nobody pressed anything': () => pass(minViewTime),
    'when the card was there for less than half a second': () => {
      pass(minViewTime - 1);
      guard.input('mouseDown');
    },
    'when the press came before the half second was over': () => {
      pass(minViewTime - 1);
      guard.input('mouseDown');
      pass(10);
    },
    'when the card came to show something else since': () => {
      pass(minViewTime);
      guard.cardShown(['q1']);
      guard.input('mouseDown');
    },
    'when a key was pressed in its first second': () => {
      pass(999);
      guard.input('rawKeyDown');
      pass(10);
    },
    'when a key was only held down': () => {
      pass(minKeyTime);
      guard.input('rawKeyDown', ['isautorepeat']);
    },
    'when the press is long past': () => {
      pass(minViewTime);
      guard.input('mouseDown');
      pass(maxPressAge + 1);
    },
    'when the window lost the focus in between': () => {
      pass(minViewTime);
      guard.setAttentive(false);
      guard.setAttentive(true);
      guard.input('mouseDown');
    },
    'when the window is not in front now': () => {
      pass(minViewTime);
      guard.input('mouseDown');
      guard.setAttentive(false);
    },
    'when another card took its place': () => {
      pass(minViewTime);
      guard.cardShown(['q2']);
      guard.input('mouseDown');
    },
    'when the card came back only now': () => {
      pass(minViewTime);
      guard.cardShown(['q2']);
      guard.cardShown(['q1']);
      guard.input('mouseDown');
    },
    'when the page was loaded anew': () => {
      pass(minViewTime);
      guard.input('mouseDown');
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
    pass(minViewTime);
    guard.input('mouseDown');
    expect(() => guard.approveCard(['q1', 'q4'])).toThrow(/not on the screen/);
    expect(() => guard.approveCard(['q1', 'q3'])).not.toThrow();
    expect(() => guard.approveCard(['q2'])).toThrow(expect.objectContaining(refusal));
  });

  it('has to be looked at anew once it shows one more', () => {
    pass(minViewTime);
    guard.input('mouseDown');
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
