/**
 * Decides whether an approval from a window is the user's own: they saw the card, and pressed a key or button while it was
 * in front.
 *
 * Invariant: a widening answer from a window counts only if its question's card was on the screen of a visible, focused
 * window for 500 ms without interruption, and a press of key, button or finger reached that window after those 500 ms
 * and just now; a key only after 1,000 ms, and not one that is held down. One press counts for the answers of one card.
 * Window and press are what the main process sees; that a card is on the screen is what the page says, which only makes
 * it stricter. Time is passed in.
 */
import { KeyturnError } from '../../src/base/errors.ts';

/** Milliseconds. Shorter than anybody reads; longer than a click that was meant for something else. */
export const minViewTime = 500;

/**
 * Milliseconds before a key counts on a card. A desktop may give a new window the focus while somebody types
 * elsewhere (Wayland has no way to show one without it), and typing goes on for longer than a click.
 */
export const minKeyTime = 1000;

/** Milliseconds between the press and the answer that the page makes of it: far more than a message takes. */
export const maxPressAge = 2000;

/** The input events that a user's press begins with; moves and releases aren't decisions. */
const presses: ReadonlySet<string> = new Set([
  'mouseDown',
  'rawKeyDown',
  'keyDown',
  'touchStart',
  'gestureTap',
]);

const keyPresses: ReadonlySet<string> = new Set(['rawKeyDown', 'keyDown']);

/** Told by windows.ts what happens to one window, and by channel-handlers.ts which card it shows; asked there before an answer counts. */
export class CardGuard {
  /** Milliseconds since some moment; must not jump. */
  readonly #now: () => number;
  /** Since when the window is visible and focused. */
  #attentiveSince: number | undefined;
  #card: { readonly ids: ReadonlySet<string>; readonly since: number } | undefined;
  #press: { readonly at: number; readonly isKey: boolean } | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The window is visible and focused now, or isn't. */
  setAttentive(isThere: boolean): void {
    if (isThere) this.#attentiveSince ??= this.#now();
    else this.#attentiveSince = undefined;
  }

  /** An input event of Electron's arrived at the window. A key that is held down is no new press. */
  input(type: string, modifiers: readonly string[] = []): void {
    if (!presses.has(type) || modifiers.includes('isautorepeat')) return;
    this.#press = { at: this.#now(), isKey: keyPresses.has(type) };
  }

  /** The page shows the card of these questions and no other. Said again: it shows something else of them. */
  cardShown(ids: readonly string[]): void {
    this.#card = { ids: new Set(ids), since: this.#now() };
  }

  /** Another document: nothing is on the screen any more. */
  pageChanged(): void {
    this.#card = undefined;
    this.#press = undefined;
  }

  /** Uses up the press. Throws `not_permitted` where an approval to one of these questions doesn't count. */
  approveCard(ids: readonly string[]): void {
    const card = this.#card;
    if (!card || !ids.every((id) => card.ids.has(id)))
      throw notApproved('The card of this request was not on the screen.');
    this.#approveSince(card.since, minKeyTime);
  }

  /** For what widens without a question. Uses up the press. Throws `not_permitted`. */
  approve(): void {
    this.#approveSince(Number.NEGATIVE_INFINITY, minViewTime);
  }

  /** `keyTime`: milliseconds before a key counts. */
  #approveSince(shown: number, keyTime: number): void {
    if (this.#attentiveSince === undefined) throw notApproved('The window was not in front.');
    const seenSince = Math.max(this.#attentiveSince, shown);
    if (this.#now() < seenSince + minViewTime) {
      throw notApproved('The window was in front for too short a time.');
    }
    const press = this.#press;
    const ready = seenSince + (press?.isKey === true ? keyTime : minViewTime);
    if (press === undefined || press.at < ready || this.#now() - press.at > maxPressAge) {
      throw notApproved(
        'No key or button was pressed in this window just now.',
        'Press with the mouse, a finger or the space bar. A click that a screen reader makes by itself can’t be told from a script’s: let it pass the key on (focus mode).',
      );
    }
    this.#press = undefined;
  }
}

function notApproved(why: string, hint = 'Look at the request and press again.'): KeyturnError {
  return new KeyturnError('not_permitted', `Nothing was allowed. ${why}`, {
    rule: `an approval takes effect only after its card was visible and focused for ${minViewTime} ms, and only by a user's press`,
    hint,
  });
}
