/**
 * Notifications of open questions, and of servers that need a sign-in.
 *
 * Invariant: a notification says what it is about and leads to the card or the window; it can't answer.
 */
import { Notification } from 'electron';
import type { TrayAction } from './menu.ts';
import { cardOf, type Changes, type Question, type Server } from '../base/summary.ts';
import { cardWords, inNotification, signedOutWords, words } from '../base/words.ts';

/** No id of a question begins so. */
const signedOutPrefix = 'signed out: ';

const signedOutName = ({ id }: Server): string => signedOutPrefix + id;

interface NotificationContent {
  readonly title: string;
  readonly body: string;
  /** What a click does. */
  readonly action: TrayAction;
  /** Until it is closed; else as long as the desktop shows such things. */
  readonly stays?: boolean;
}

export class Notifications {
  readonly #onAction: (action: TrayAction) => void;
  /** By what it is about. A notification that nobody holds may be collected, and its click with it. */
  readonly #shown = new Map<string, Notification>();

  readonly #log: (line: string) => void;

  /** `log`: takes one line. */
  constructor(onAction: (action: TrayAction) => void, log: (line: string) => void) {
    this.#onAction = onAction;
    this.#log = log;
  }

  show({ cards, signedOut }: Changes): void {
    for (const { id, questions } of cards) {
      this.#open(id, {
        title: words().question,
        body: cardWords(questions),
        action: { type: 'card', id },
        // As long as the card waits; keepOnly takes it away.
        stays: true,
      });
    }
    for (const server of signedOut) {
      this.#open(signedOutName(server), {
        title: words().signedOutTitle,
        body: signedOutWords(server),
        action: { type: 'open' },
      });
    }
  }

  /** Removes the notifications of questions that have ended. */
  keepOnly(questions: readonly Question[]): void {
    const open = new Set(questions.map(cardOf));
    for (const [name, notification] of this.#shown) {
      if (open.has(name) || name.startsWith(signedOutPrefix)) continue;
      this.#shown.delete(name);
      notification.close();
    }
  }

  /** For the end of the app: nobody would hear a click any more. */
  close(): void {
    for (const notification of this.#shown.values()) notification.close();
    this.#shown.clear();
  }

  #open(name: string, { title, body, action, stays = false }: NotificationContent): void {
    if (!Notification.isSupported()) return;
    this.#shown.get(name)?.close();
    const notification = new Notification({
      title,
      body: inNotification(body),
      timeoutType: stays ? 'never' : 'default',
    });
    this.#shown.set(name, notification);
    notification.on('click', () => this.#onAction(action));
    const forget = (): void => void (this.#shown.get(name) === notification && this.#shown.delete(name));
    // On Windows one that timed out is still in the Action Center, where a click or its end can reach it.
    notification.on('close', ({ reason }) => reason === 'timedOut' || forget());
    // macOS shows none of an unsigned app. The icon and the card say the same.
    notification.on('failed', () => {
      this.#log('app: the system did not show a notification');
      forget();
    });
    notification.show();
  }
}
