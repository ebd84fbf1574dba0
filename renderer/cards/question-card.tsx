/**
 * The card of a question, or of several of one run: which card stands for which kind, and the short ones.
 *
 * Invariant: every word of an app or a server is shown as untrusted text.
 */
import { useState } from 'preact/hooks';
import type { Questions } from '../base/views.ts';
import { strings } from '../base/strings.ts';
import { sanitizeLabel } from '../base/untrusted-text.ts';
import { AccessCard } from './access/access-card.tsx';
import { QuestionForm, ConsentForm, type CardProps } from './base/consent-form.tsx';
import { RequestingApp } from './base/requesting-app.tsx';
import { CommandCard } from './command-card.tsx';
import { SettingsCard } from './settings-card.tsx';
import { SignInCard } from './sign-in-card.tsx';
import { AddressFact, Fact, Facts } from '../parts/facts.tsx';
import { Notice } from '../parts/notice.tsx';
import { OnCard, UntrustedText, Host, UntrustedLines } from '../parts/untrusted-text.tsx';

interface QuestionCardProps {
  /** Of one card. */
  readonly questions: Questions;
  readonly onDone: () => void;
}

export function QuestionCard(props: QuestionCardProps) {
  return (
    <OnCard.Provider value={true}>
      <CardByKind {...props} />
    </OnCard.Provider>
  );
}

function CardByKind({ questions, onDone }: QuestionCardProps) {
  const [question] = questions;
  const props = { question, onDone };
  switch (question.kind) {
    case 'signIn':
    case 'device':
      return <SignInCard {...props} />;
    case 'command':
      return <CommandCard {...props} />;
    case 'account':
      return <AccountCard {...props} />;
    case 'url':
      return <UrlCard {...props} />;
    case 'choice':
      return <ChoiceCard {...props} />;
    case 'settings':
      return <SettingsCard {...props} />;
    case 'pair':
      return <PairCard {...props} />;
    case 'allow':
      return <AccessCard questions={questions} onDone={onDone} />;
  }
}

const { card, page, otherAccount, choice } = strings;

/** An app wants to be paired: the digits to compare, and who asks. */
function PairCard({ question, onDone }: CardProps) {
  const { app: name = '', code = '' } = question;
  const app = sanitizeLabel(name);
  const named = { app: <UntrustedText text={name} /> };
  return (
    <QuestionForm
      question={question}
      onDone={onDone}
      words={{
        title: card.titlePair.parts(named),
        confirm: card.pair,
        refuse: card.dontPair,
        answered: { approve: card.paired({ app }), dismiss: card.notPaired({ app }) },
      }}
    >
      <div class="digits">
        <p>{card.digits.parts(named)}</p>
        <p class="code" aria-label={Array.from(code).join(' ')}>
          {code}
        </p>
        <p class="dim small">{card.otherDigits}</p>
      </div>
      <div class="parties">
        <RequestingApp question={question} note={card.ownName} />
      </div>
      <p class="dim small">{card.pairWhat}</p>
    </QuestionForm>
  );
}

/**
 * An MCP server asks the user to open an address. The host is alone and first, in the spelling that the browser gets;
 * the server's words come after it. The server is told if the user declines.
 */
function UrlCard({ question, onDone }: CardProps) {
  const { url = '', resource, message = '' } = question;
  const site = <Host url={url} />;
  const words = { ...page, title: page.title.parts({ site }) };
  return (
    <QuestionForm question={question} onDone={onDone} refusal="deny" words={words}>
      <div class="host">
        <p>{page.host}</p>
        <p class="host-name">{site}</p>
      </div>
      <div class="parties">
        <Facts>
          <AddressFact name={page.address} url={url} />
          <AddressFact name={page.server} url={resource} />
          <Fact name={page.message}>
            {message === '' ? page.noMessage : <UntrustedText text={message} />}
          </Fact>
        </Facts>
        <RequestingApp question={question} note={page.by} />
      </div>
      <Notice kind="warn">
        <p>{page.what}</p>
      </Notice>
    </QuestionForm>
  );
}

/** A sign-in came back as another account than was expected: server, issuer and both accounts. */
function AccountCard({ question, onDone }: CardProps) {
  const { resource, issuer, account, accounts = [] } = question;
  return (
    <QuestionForm question={question} onDone={onDone} words={otherAccount}>
      <div class="parties">
        <Facts>
          <AddressFact name={card.server} url={resource} />
          <AddressFact name={card.issuer} url={issuer} />
          <Fact name={otherAccount.signedIn}>
            {account === undefined ? otherAccount.unnamed : <UntrustedText text={account} />}
          </Fact>
          <Fact name={otherAccount.expected}>
            <UntrustedLines texts={accounts} />
          </Fact>
        </Facts>
      </div>
      <Notice kind="warn">
        <p>{otherAccount.what}</p>
      </Notice>
    </QuestionForm>
  );
}

/** Which of its accounts an app uses at a server: none is chosen before the user chose. */
function ChoiceCard({ question, onDone }: CardProps) {
  const { id, app = '', resource = '', accounts = [] } = question;
  const [account, pick] = useState<string>();
  const named = { app: <UntrustedText text={app} />, server: <Host url={resource} /> };
  return (
    <ConsentForm
      ids={[id]}
      onDone={onDone}
      words={{ ...choice, title: choice.title.parts(named) }}
      content={JSON.stringify(question)}
      approvals={() => (account === undefined ? undefined : [{ id, answer: 'approve', account }])}
      obstacle={account === undefined ? choice.pick : undefined}
    >
      <div class="parties">
        <RequestingApp question={question} note={choice.by} />
        <Facts>
          <AddressFact name={choice.server} url={resource} />
        </Facts>
      </div>
      <fieldset>
        <legend>{choice.account}</legend>
        <ul class="scopes choice">
          {accounts.map((name) => (
            <li key={name}>
              <label>
                <input type="radio" name="account" checked={name === account} onChange={() => pick(name)} />
                <span>
                  <UntrustedText text={name} />
                  <span class="end" />
                </span>
              </label>
            </li>
          ))}
        </ul>
      </fieldset>
      <Notice kind="info">
        <p>{choice.what}</p>
      </Notice>
    </ConsentForm>
  );
}
