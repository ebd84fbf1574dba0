/**
 * The card of a choice: which of its accounts an app uses at a server.
 *
 * Invariant: of several accounts none is chosen before the user chose.
 */
import { useState } from 'preact/hooks';
import { ConsentForm } from './base/consent-form.tsx';
import type { CardProps } from './base/consent-form.tsx';
import { RequestingApp } from './base/requesting-app.tsx';
import { AddressFact, Facts } from '../parts/facts.tsx';
import { UntrustedText, Host } from '../parts/untrusted-text.tsx';
import { Notice } from '../parts/notice.tsx';
import { strings } from '../base/strings.ts';

const words = strings.choice;

export function ChoiceCard({ question, onDone }: CardProps) {
  const { app: name = '', resource = '', accounts = [] } = question;
  const [account, pick] = useState<string>();
  return (
    <ConsentForm
      ids={[question.id]}
      onDone={onDone}
      words={{ ...words, title: <Title appName={name} resource={resource} /> }}
      content={JSON.stringify(question)}
      approvals={() =>
        account === undefined ? undefined : [{ id: question.id, answer: 'approve', account }]
      }
      obstacle={account === undefined ? words.pick : undefined}
    >
      <div class="parties">
        <RequestingApp question={question} note={words.by} />
        <Facts>
          <AddressFact name={words.server} url={resource} />
        </Facts>
      </div>
      <AccountChoice accounts={accounts} picked={account} onPick={pick} />
      <Notice kind="info">
        <p>{words.what}</p>
      </Notice>
    </ConsentForm>
  );
}

function Title({ appName, resource }: { readonly appName: string; readonly resource: string }) {
  return (
    <>
      {words.title.parts({
        app: <UntrustedText text={appName} />,
        server: <Host url={resource} />,
      })}
    </>
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
      <legend>{words.account}</legend>
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
