/**
 * What the person may say to a question, and on which terms.
 *
 * Invariants: terms stand only beside a `yes` to a program that asks for tokens, and give no scope that the question
 * does not show. A term that can't be kept is refused before the question is closed.
 */
import { KeyturnError, quoted, shellWord } from '../../base/errors.ts';
import type { Question } from './question.ts';
import { cliClientId } from '../records/local-client.ts';

export type Answer = 'yes' | 'no' | 'later';

/** What an answer came to. `void`: the asker is no longer the one that the person saw. */
export type Verdict = Answer | 'void';

export interface Terms {
  /** Exactly these scopes in place of those on the card; some of those, where it names any. */
  readonly scope?: readonly string[];
  /** For the run that asked, and no other. */
  readonly run?: boolean;
  /** For the run that asked, and one token. */
  readonly once?: boolean;
  /** For so long, in milliseconds. */
  readonly time?: number;
  /** As long as what it may do there already, at the time when the answer is kept. */
  readonly asBefore?: boolean;
}

type AllowQuestion = Extract<Question, { readonly kind: 'allow' }>;

export interface Decision extends Terms {
  readonly verdict: Verdict;
}

/** Throws `invalid_request` for terms that don't fit, `conflict` where what they rest on is over already. */
export function refuseTerms(question: Question, answer: Answer, terms: Terms): void {
  const { run, once, asBefore } = terms;
  if (Object.values(terms).every((term) => term === undefined)) return;
  if (answer !== 'yes' || question.kind !== 'allow') {
    throw new KeyturnError(
      'invalid_request',
      'Scopes, a time, a run or once go with a yes to a program only.',
      {
        hint: 'The question must be of the kind "allow"; `keyturn pending` shows it.',
      },
    );
  }
  refuseWider(question, terms);
  if (asBefore === true && question.isAllowed?.() !== true) throw nothingBefore(question.clientName);
  if (run !== true && once !== true) return;
  if (run === true && question.clientId === cliClientId) {
    throw new KeyturnError('invalid_request', 'The command line can’t be allowed for one run.', {
      rule: 'A permission for a run ends with its connection, and that of a command ends with the command',
      hint: 'Allow it once, or for a time.',
    });
  }
  if (question.asker?.standing() === 'same') return;
  throw new KeyturnError('conflict', `The run of ${question.clientName} that asked is over.`, {
    rule: 'A permission for a run, or for once, ends with the run’s last connection',
    hint: 'Allow it for a time, or wait until it asks again.',
  });
}

/** A yes may give less than the question asks, and nothing that nobody asked for. A question without scopes is for all. */
function refuseWider({ clientName, endpoint, scope: asked }: AllowQuestion, { scope = [] }: Terms): void {
  const others = asked === undefined ? [] : scope.filter((name) => !asked.includes(name));
  if (asked === undefined || others.length === 0) return;
  const names = (scopes: readonly string[]): string => scopes.map(quoted).join(', ');
  throw new KeyturnError('invalid_request', `The question does not ask for ${names(others)}.`, {
    rule: 'A yes allows what the question shows, or less',
    hint: `It asks for ${names(asked)}. To allow other scopes: keyturn allow ${shellWord(clientName)} ${shellWord(endpoint)} --scope "A B"`,
  });
}

function nothingBefore(name: string): KeyturnError {
  return new KeyturnError('conflict', `What ${name} was allowed there before is over.`, {
    rule: 'A yes "as before" lasts as long as what stands when it is kept',
    hint: 'Nothing was allowed. Allow it for a time of its own, or deny it.',
  });
}

/** `conflict` for a question whose asker isn't the one that was shown; else undefined. */
export function changedClient(question: Question): KeyturnError | undefined {
  // Nobody's process is shown on the others.
  if (question.kind !== 'allow' && question.kind !== 'pair' && question.kind !== 'command') return undefined;
  if (question.asker?.standing() !== 'changed') return undefined;
  const who = question.kind === 'command' ? 'ran the command' : `asked as ${question.clientName}`;
  return new KeyturnError('conflict', `What ${who} is no longer the same program.`, {
    rule: 'The facts about who asks are read again at the answer; where they changed, the question is void',
    hint: 'Nothing was allowed. If you expect the program, let it ask again.',
  });
}
