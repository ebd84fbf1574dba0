/** When a yes from a window counts. */
import { beforeEach, describe, expect, it } from 'vitest';
import { CardGuard, lookFor, pressLasts } from '../../electron/windows/card-guard.ts';

let now: number;
let guard: CardGuard;

const pass = (milliseconds: number): void => void (now += milliseconds);
const refusal = { reason: 'not_permitted' };

beforeEach(() => {
  now = 10_000;
  guard = new CardGuard(() => now);
  guard.attention(true);
  guard.cardShown('q1');
});

describe('a card that was before the person', () => {
  it('can be approved by a press, once', () => {
    pass(lookFor);
    guard.input('mouseDown');
    expect(() => guard.approveCard('q1')).not.toThrow();
    expect(() => guard.approveCard('q1')).toThrow(expect.objectContaining(refusal));
  });

  it.each(['rawKeyDown', 'keyDown', 'touchStart', 'gestureTap'])('takes %s for a press', (type) => {
    pass(lookFor);
    guard.input(type);
    expect(() => guard.approveCard('q1')).not.toThrow();
  });

  it.each(['mouseMove', 'mouseUp', 'mouseWheel', 'keyUp', 'char', 'undefined'])(
    'takes %s for none',
    (type) => {
      pass(lookFor);
      guard.input(type);
      expect(() => guard.approveCard('q1')).toThrow(/No key or button/);
    },
  );
});

describe('a yes does not count', () => {
  const spoilt: Record<string, () => void> = {
    'when nobody pressed anything': () => pass(lookFor),
    'when the card was there for less than half a second': () => {
      pass(lookFor - 1);
      guard.input('mouseDown');
    },
    'when the press came before the half second was over': () => {
      pass(lookFor - 1);
      guard.input('mouseDown');
      pass(10);
    },
    'when the card came to show something else since': () => {
      pass(lookFor);
      guard.cardShown('q1');
      guard.input('mouseDown');
    },
    'when a key was only held down': () => {
      pass(lookFor);
      guard.input('rawKeyDown', ['isautorepeat']);
    },
    'when the press is long past': () => {
      pass(lookFor);
      guard.input('mouseDown');
      pass(pressLasts + 1);
    },
    'when the window lost the focus in between': () => {
      pass(lookFor);
      guard.attention(false);
      guard.attention(true);
      guard.input('mouseDown');
    },
    'when the window is not in front now': () => {
      pass(lookFor);
      guard.input('mouseDown');
      guard.attention(false);
    },
    'when another card took its place': () => {
      pass(lookFor);
      guard.cardShown('q2');
      guard.input('mouseDown');
    },
    'when the card came back only now': () => {
      pass(lookFor);
      guard.cardShown('q2');
      guard.cardShown('q1');
      guard.input('mouseDown');
    },
    'when the page was loaded anew': () => {
      pass(lookFor);
      guard.input('mouseDown');
      guard.pageChanged();
    },
  };
  it.each(Object.entries(spoilt))('%s', (_when, happens) => {
    happens();
    expect(() => guard.approveCard('q1')).toThrow(expect.objectContaining(refusal));
  });

  it('is refused with a rule and what to do', () => {
    expect(() => guard.approveCard('q1')).toThrow(
      expect.objectContaining({ hint: expect.any(String), rule: expect.stringContaining('500 ms') }),
    );
  });
});

describe('what widens without a question', () => {
  it('needs the window in front and a press, and no card', () => {
    expect(() => guard.approve()).toThrow(/too short/);
    pass(lookFor);
    expect(() => guard.approve()).toThrow(/No key or button/);
    guard.input('keyDown');
    expect(() => guard.approve()).not.toThrow();
  });
});
