/**
 * Tells the person what waits, while no window does.
 *
 * Invariant: a notification says who asks and leads to the card; it can't answer.
 */
import { Notification } from 'electron';
import type { Act } from './menu.ts';
import type { News, Question, Server } from '../base/summary.ts';
import { inNotification, questionWords, words } from '../base/words.ts';

/** No id of a question begins so. */
const signedOutPrefix = 'signed out: ';

const signedOutName = ({ id }: Server): string => signedOutPrefix + id;

interface Told {
  readonly title: string;
  readonly body: string;
  /** What a click does. */
  readonly act: Act;
  /** Until it is closed; else as long as the desktop shows such things. */
  readonly stays?: boolean;
}

export class Notifications {
  readonly #chosen: (act: Act) => void;
  /** By what it is about. A notification that nobody holds may be collected, and its click with it. */
  readonly #open = new Map<string, Notification>();

  constructor(chosen: (act: Act) => void) {
    this.#chosen = chosen;
  }

  tell({ questions, signedOut }: News): void {
    for (const question of questions) {
      this.#show(question.id, {
        title: words.question,
        body: questionWords(question),
        act: { does: 'card', id: question.id },
        // As long as the question waits; keepOnly takes it away.
        stays: true,
      });
    }
    for (const server of signedOut) {
      this.#show(signedOutName(server), {
        title: words.signedOutTitle,
        body: words.signedOut(server),
        act: { does: 'open' },
      });
    }
  }

  /** Takes away what was told of questions that are over. */
  keepOnly(questions: readonly Question[]): void {
    const open = new Set(questions.map(({ id }) => id));
    for (const [name, notification] of this.#open) {
      if (open.has(name) || name.startsWith(signedOutPrefix)) continue;
      this.#open.delete(name);
      notification.close();
    }
  }

  #show(name: string, { title, body, act, stays = false }: Told): void {
    if (!Notification.isSupported()) return;
    this.#open.get(name)?.close();
    const notification = new Notification({
      title,
      body: inNotification(body),
      timeoutType: stays ? 'never' : 'default',
    });
    this.#open.set(name, notification);
    notification.on('click', () => this.#chosen(act));
    notification.on('close', () => {
      if (this.#open.get(name) === notification) this.#open.delete(name);
    });
    notification.show();
  }
}
