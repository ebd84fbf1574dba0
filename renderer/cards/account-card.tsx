/**
 * The card of a sign-in that came back as another account than was expected: it asks whether to keep that one.
 *
 * Invariant: server, issuer, who signed in and who was expected are all on the card before an approval counts.
 */
import { QuestionForm } from './base/consent-form.tsx';
import type { CardProps } from './base/consent-form.tsx';
import { AddressFact, Fact, Facts } from '../parts/facts.tsx';
import { UntrustedLines, UntrustedText } from '../parts/untrusted-text.tsx';
import { Notice } from '../parts/notice.tsx';
import { strings } from '../base/strings.ts';
import type { Question } from '../base/views.ts';

const words = strings.otherAccount;

export function AccountCard({ question, onDone }: CardProps) {
  return (
    <QuestionForm question={question} onDone={onDone} words={words}>
      <div class="parties">
        <Accounts question={question} />
      </div>
      <Notice kind="warn">
        <p>{words.what}</p>
      </Notice>
    </QuestionForm>
  );
}

function Accounts({
  question: { resource = '', issuer = '', account, accounts = [] },
}: {
  readonly question: Question;
}) {
  return (
    <Facts>
      <AddressFact name={strings.card.server} url={resource} />
      <AddressFact name={strings.card.issuer} url={issuer} />
      <Fact name={words.signedIn}>
        {account === undefined ? words.unnamed : <UntrustedText text={account} />}
      </Fact>
      <Fact name={words.expected}>
        <UntrustedLines texts={accounts} />
      </Fact>
    </Facts>
  );
}
