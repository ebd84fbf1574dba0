/** Open questions, card by card: what one run of an app asks in one breath is one card (`sharedCard` of broker/approval-requests/approval-requests.ts). */
import type { Question } from './views.ts';

export type Questions = readonly [Question, ...Question[]];

export interface Card {
  /** Of the question that opened it, which may be answered by now. */
  readonly id: string;
  readonly questions: Questions;
}

/** In the order in which they came up. */
export function cardsOf(open: readonly Question[]): readonly Card[] {
  const cards = new Map<string, [Question, ...Question[]]>();
  for (const question of open) {
    const { id, card = id } = question;
    const questions = cards.get(card);
    if (questions) questions.push(question);
    else cards.set(card, [question]);
  }
  return [...cards].map(([id, questions]) => ({ id, questions }));
}

/** How many servers they are about: an app may ask for another account, or for more, at one of them. */
export const serverCount = (questions: Questions): number =>
  new Set(questions.map(({ resource }) => resource)).size;
