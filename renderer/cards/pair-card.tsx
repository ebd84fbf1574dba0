/**
 * The card of an app that wants to be paired: the digits to compare, and who asks.
 *
 * Invariant: every word of the app is shown as untrusted text.
 */
import { QuestionForm } from './base/consent-form.tsx';
import type { CardProps } from './base/consent-form.tsx';
import { sanitizeLabel } from '../base/untrusted-text.ts';
import { UntrustedText } from '../parts/untrusted-text.tsx';
import { RequestingApp } from './base/requesting-app.tsx';
import { strings } from '../base/strings.ts';

const words = strings.card;

export function PairCard({ question, onDone }: CardProps) {
  const { app: name = '', code = '' } = question;
  const app = sanitizeLabel(name);
  return (
    <QuestionForm
      question={question}
      onDone={onDone}
      words={{
        title: <>{words.titlePair.parts({ app: <UntrustedText text={name} /> })}</>,
        confirm: words.pair,
        refuse: words.dontPair,
        answered: { approve: words.paired({ app }), dismiss: words.notPaired({ app }) },
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
        <RequestingApp question={question} note={words.ownName} />
      </div>
      <p class="dim small">{words.pairWhat}</p>
    </QuestionForm>
  );
}
