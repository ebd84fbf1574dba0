/**
 * Tells the person what waits, while no window does.
 *
 * Invariant: a notification says who asks and leads to the card; it can't answer.
 */
import { Notification } from 'electron';
import type { Act } from './menu.ts';
import type { News } from './summary.ts';
import { questionWords, words } from './words.ts';

export class Notifications {
  readonly #chosen: (act: Act) => void;
  /** A notification that nobody holds may be collected, and its click with it. */
  readonly #open = new Set<Notification>();

  constructor(chosen: (act: Act) => void) {
    this.#chosen = chosen;
  }

  tell({ questions, signedOut }: News): void {
    for (const question of questions) {
      this.#show(words.question, questionWords(question), { does: 'card', id: question.id });
    }
    for (const server of signedOut) {
      this.#show(words.signedOutTitle, words.signedOut(server), { does: 'open' });
    }
  }

  #show(title: string, body: string, act: Act): void {
    if (!Notification.isSupported()) return;
    const notification = new Notification({ title, body });
    this.#open.add(notification);
    notification.on('click', () => this.#chosen(act));
    notification.on('close', () => this.#open.delete(notification));
    notification.show();
  }
}
