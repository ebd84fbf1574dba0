/**
 * Which card a question is shown on: what one run of a program asks while its card is open stands on that card.
 *
 * Invariants: questions share a card only if the system attests one process, which still runs the file that it ran at
 * the earlier question, and if all that a card says of the program is the same. A shared card is display only: each
 * question has its own answer. A card holds at most `maxOnCard` questions; further ones have the next card.
 */
import type { Question } from './question.ts';

/** As many servers as a person still looks at one by one. */
const maxOnCard = 5;

/** An open question, and the card that it is on. */
export interface Carded {
  readonly question: Question;
  /** The id of the question that opened the card. */
  readonly card: string;
}

/** The open card that this question joins; undefined where it needs one of its own. */
export function sharedCard(question: Question, open: readonly Carded[]): string | undefined {
  const isFull = (card: string): boolean => open.filter((other) => other.card === card).length >= maxOnCard;
  return open.find((other) => isOfOneRun(other.question, question) && !isFull(other.card))?.card;
}

function isOfOneRun(earlier: Question, later: Question): boolean {
  if (earlier.kind !== 'allow' || later.kind !== 'allow' || earlier.asker === undefined) return false;
  return saidOf(earlier) === saidOf(later) && earlier.asker.standing() === 'same';
}

/** What a card says of the program, and the run that only the broker sees. */
function saidOf({ clientId, clientName, asker, proxied, isDetached, forward }: AllowQuestion): string {
  return JSON.stringify([clientId, clientName, asker, proxied, isDetached, forward]);
}

type AllowQuestion = Extract<Question, { readonly kind: 'allow' }>;
