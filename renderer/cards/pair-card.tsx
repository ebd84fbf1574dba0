/**
 * The card of a program that wants to be paired: the digits to compare, and who asks.
 *
 * Invariant: every word of the program is shown as untrusted text.
 */
import { QuestionForm } from './base/consent-form.tsx';
import type { CardProps, ConsentWords } from './base/consent-form.tsx';
import { sanitizeLabel } from '../base/untrusted-text.ts';
import { RequestingProgram } from './base/requesting-program.tsx';
import { strings } from '../base/strings.ts';

const words = strings.card;

export function PairCard({ question, onDone }: CardProps) {
  const { client = '', code = '' } = question;
  return (
    <QuestionForm question={question} onDone={onDone} words={wordsFor(client)}>
      <div class="digits">
        <p>{words.digits}</p>
        <p class="code" aria-label={Array.from(code).join(' ')}>
          {code}
        </p>
      </div>
      <div class="parties">
        <RequestingProgram question={question} name={client} note={words.ownName} isRead />
      </div>
    </QuestionForm>
  );
}

function wordsFor(client: string): ConsentWords {
  const name = sanitizeLabel(client);
  return {
    title: words.titlePair,
    help: words.helpPair,
    confirm: words.pair,
    answered: {
      yes: words.paired({ program: name }),
      no: words.denied({ program: name }),
      later: words.postponed,
    },
  };
}
