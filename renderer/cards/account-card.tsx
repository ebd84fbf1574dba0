/**
 * The cards about accounts: a sign-in came back as another one than was expected, and shall it be kept? Which of its
 * accounts does an app use at a server: one of several, or the one that a project file names?
 *
 * Invariants: server, issuer, who signed in and who was expected all stand on the card before a yes counts. Nothing is
 * chosen before the person chose.
 */
import { useState } from 'preact/hooks';
import { ConsentForm, QuestionForm } from './consent-form.tsx';
import type { CardProps } from './consent-form.tsx';
import { maxPathLength, RequestingProgram } from './requesting-program.tsx';
import { Fact, Facts } from '../parts/facts.tsx';
import { Address, UntrustedLines, UntrustedText } from '../parts/untrusted-text.tsx';
import { Notice } from '../parts/notice.tsx';
import { strings } from '../base/strings.ts';
import type { Question } from '../base/views.ts';

const words = strings.otherAccount;
const choiceWords = strings.choice;

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
        <UntrustedLines texts={accounts} />
      </Fact>
    </Facts>
  );
}

export function ChoiceCard({ question, onDone }: CardProps) {
  const { client = '', resource = '', accounts = [], folder } = question;
  const [picked, pick] = useState<string>();
  const account = accounts.length === 1 ? accounts[0] : picked;
  return (
    <ConsentForm
      ids={[question.id]}
      onDone={onDone}
      words={folder === undefined ? choiceWords : { ...choiceWords, title: choiceWords.titleProject }}
      content={JSON.stringify(question)}
      approvals={() => (account === undefined ? undefined : [{ id: question.id, answer: 'yes', account }])}
      obstacle={account === undefined ? choiceWords.pick : undefined}
    >
      <div class="parties">
        <RequestingProgram question={question} name={client} note={choiceWords.by} isRead />
        <Facts>
          <Fact name={choiceWords.server}>
            <Address url={resource} />
          </Fact>
          {accounts.length === 1 && (
            <Fact name={choiceWords.account}>
              <UntrustedText text={accounts[0] ?? ''} />
            </Fact>
          )}
          {folder !== undefined && (
            <Fact name={choiceWords.folder}>
              <span class="path">
                <UntrustedText text={folder} bound={maxPathLength} />
              </span>
            </Fact>
          )}
        </Facts>
      </div>
      {accounts.length > 1 && <AccountChoice accounts={accounts} picked={picked} onPick={pick} />}
      <Notice kind="info">
        <p>{folder === undefined ? choiceWords.what : choiceWords.whatProject}</p>
      </Notice>
    </ConsentForm>
  );
}

interface AccountChoiceProps {
  readonly accounts: readonly string[];
  readonly picked: string | undefined;
  readonly onPick: (account: string) => void;
}

function AccountChoice({ accounts, picked, onPick }: AccountChoiceProps) {
  return (
    <fieldset>
      <legend>{choiceWords.account}</legend>
      <ul class="scopes choice">
        {accounts.map((account) => (
          <li key={account}>
            <label>
              <input
                type="radio"
                name="account"
                checked={account === picked}
                onChange={() => onPick(account)}
              />
              <span>
                <UntrustedText text={account} />
                <span class="end" />
              </span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}
