/**
 * The card of an app that wants to be paired: the digits to compare, and who asks.
 *
 * Invariant: every word of the app is shown as untrusted text.
 */
import { QuestionForm } from './base/consent-form.tsx';
import type { CardProps } from './base/consent-form.tsx';
import { sanitizeLabel } from '../base/untrusted-text.ts';
import { UntrustedText } from '../parts/untrusted-text.tsx';
import { RequestingProgram } from './base/requesting-program.tsx';
import { strings } from '../base/strings.ts';

const words = strings.card;

export function PairCard({ question, onDone }: CardProps) {
  const { app: client = '', code = '' } = question;
  const program = sanitizeLabel(client);
  const app = <UntrustedText text={client} />;
  return (
    <QuestionForm
      question={question}
      onDone={onDone}
      words={{
        title: <>{words.titlePair.parts({ app })}</>,
        confirm: words.pair,
        refuse: words.dontPair,
        answered: { approve: words.paired({ program }), dismiss: words.notPaired({ program }) },
      }}
    >
      <div class="digits">
        <p>{words.digits.parts({ app })}</p>
        <p class="code" aria-label={Array.from(code).join(' ')}>
          {code}
        </p>
        <p class="dim small">{words.otherDigits}</p>
      </div>
      <div class="parties">
        <RequestingProgram question={question} note={words.ownName} />
      </div>
      <p class="dim small">{words.pairWhat}</p>
    </QuestionForm>
  );
}
