/**
 * The card of a sign-in that came back as another account than was expected: shall it be kept beside the others?
 *
 * Invariant: server, issuer, who signed in and who was expected all stand on the card before a yes counts.
 */
import { ConsentForm } from './consent-form.tsx';
import type { CardProps } from './consent-form.tsx';
import { Fact, Facts } from '../parts/facts.tsx';
import { Address, UntrustedText } from '../parts/untrusted-text.tsx';
import { Notice } from '../parts/notice.tsx';
import { strings } from '../base/strings.ts';
import type { Question } from '../base/views.ts';

const words = strings.otherAccount;

export function AccountCard({ question, onDone }: CardProps) {
  return (
    <ConsentForm
      question={question}
      onDone={onDone}
      title={words.title}
      help={words.help}
      approval={words.confirm}
      content={JSON.stringify(question)}
      sentences={{ yes: words.done, no: words.refused, later: words.refused }}
    >
      <div class="parties">
        <Accounts question={question} />
      </div>
      <Notice kind="warn">
        <p>{words.what}</p>
      </Notice>
    </ConsentForm>
  );
}

function Accounts({
  question: { resource = '', issuer = '', account, accounts = [] },
}: {
  readonly question: Question;
}) {
  return (
    <Facts>
      <Fact name={strings.card.server}>
        <Address url={resource} />
      </Fact>
      <Fact name={strings.card.issuer}>
        <Address url={issuer} />
      </Fact>
      <Fact name={words.signedIn}>
        {account === undefined ? words.unnamed : <UntrustedText text={account} />}
      </Fact>
      <Fact name={words.expected}>
        {accounts.map((known) => (
          <p key={known}>
            <UntrustedText text={known} />
          </p>
        ))}
      </Fact>
    </Facts>
  );
}
