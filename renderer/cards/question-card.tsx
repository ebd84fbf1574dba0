/**
 * The card of a question from a program: may it be paired, may it have access?
 *
 * Invariant: every word of the program or a server is foreign text; what counts as an answer is
 * consent-form.tsx's.
 */
import { useState } from 'preact/hooks';
import { AccountCard } from './account-card.tsx';
import { commandName, freshScopes, termsOf } from './allowance.ts';
import type { Span } from './allowance.ts';
import { Asker } from './asker.tsx';
import { CommandCard } from './command-card.tsx';
import { ConsentForm } from './consent-form.tsx';
import type { CardProps } from './consent-form.tsx';
import { Fact, Facts } from '../parts/facts.tsx';
import { fitLabel } from '../base/foreign-text.ts';
import { Address, Foreign, OnCard } from '../parts/foreign.tsx';
import { Icon } from '../parts/icon.tsx';
import { Notice } from '../parts/notice.tsx';
import { nothingOffered, useOffer } from './offer.ts';
import type { Offer } from './offer.ts';
import { Refused } from '../parts/refused.tsx';
import { scopeNames, Scopes } from '../parts/scopes.tsx';
import { SettingsCard } from './settings-card.tsx';
import { ScrollBox } from '../parts/scroll-box.tsx';
import { SignInCard } from './sign-in-card.tsx';
import { SpanChoice } from './span-choice.tsx';
import { strings } from '../base/strings.ts';
import type { Question } from '../base/views.ts';
import { When } from '../parts/when.tsx';

const words = strings.card;

export function QuestionCard(props: CardProps) {
  return (
    <OnCard.Provider value={true}>
      <CardOfKind {...props} />
    </OnCard.Provider>
  );
}

function CardOfKind({ question, onDone }: CardProps) {
  switch (question.kind) {
    case 'login':
    case 'device':
      return <SignInCard question={question} onDone={onDone} />;
    case 'command':
      return <CommandCard question={question} onDone={onDone} />;
    case 'account':
      return <AccountCard question={question} onDone={onDone} />;
    case 'settings':
      return <SettingsCard question={question} onDone={onDone} />;
    case 'pair':
      return <PairCard question={question} onDone={onDone} />;
    case 'allow':
      return <AllowCard question={question} onDone={onDone} />;
  }
}

function PairCard({ question, onDone }: CardProps) {
  const { client = '', code = '' } = question;
  return (
    <ConsentForm
      question={question}
      onDone={onDone}
      title={words.titlePair}
      help={words.helpPair}
      approval={words.pair}
      said={JSON.stringify(question)}
      sentences={sentencesTo(question)}
    >
      <div class="digits">
        <p>{words.digits}</p>
        <p class="code" aria-label={Array.from(code).join(' ')}>
          {code}
        </p>
      </div>
      <div class="parties">
        <Asker question={question} name={client} note={words.ownName} isRead />
      </div>
    </ConsentForm>
  );
}

function sentencesTo({ kind, client = '' }: Question) {
  const name = fitLabel(client);
  return {
    yes: kind === 'pair' ? words.paired(name) : words.allowed(name),
    no: words.denied(name),
    later: words.postponed,
  };
}

function AllowCard({ question, onDone }: CardProps) {
  const { offer, refusal } = useOffer(question);
  const { asker, had, spans, first, issuers } = offer ?? nothingOffered;
  const said = offer && JSON.stringify([question, offer]);
  // A choice was made among what the card said then; of anything else it says nothing.
  const [wanted, choose] = useState<{ readonly span: Span; readonly of: string | undefined }>();
  const chosen = wanted !== undefined && wanted.of === said ? wanted.span : first;
  const { client = '' } = question;
  return (
    <ConsentForm
      question={question}
      onDone={onDone}
      title={words.titleAllow}
      help={words.help}
      approval={words.allow}
      said={said}
      sentences={sentencesTo(question)}
      termsOfYes={() => termsOf(chosen, had)}
    >
      <div class="parties">
        <Asker
          question={question}
          name={client}
          note={words.ownName}
          paired={asker}
          isRead={offer !== undefined}
        />
        <Wish question={question} had={had} issuers={issuers} />
      </div>
      {client === commandName && <Notice kind="warn">{words.cliWarning}</Notice>}
      {offer && (
        <SpanChoice
          spans={spans}
          chosen={chosen}
          pid={question.asker?.pid}
          onChoose={(span) => choose({ span, of: said })}
        />
      )}
      <Refused refusal={refusal} />
    </ConsentForm>
  );
}

interface WishProps extends Pick<Offer, 'had'> {
  readonly question: Question;
  /** Undefined until they are known. */
  readonly issuers: Offer['issuers'] | undefined;
}

function Wish({ question, had, issuers }: WishProps) {
  const { resource = '', scope, account, createdAt } = question;
  const names = scopeNames(scope);
  return (
    <>
      <div class="party">
        <Icon name="server" />
        <div>
          <ScrollBox label={words.server}>
            <p class="party-name">
              <Address url={resource} />
            </p>
          </ScrollBox>
          {issuers && <Issuers urls={issuers} />}
          {had && <p class="small">{question.accounts ? words.anotherAccount : words.more}</p>}
        </div>
      </div>
      <Facts>
        {account !== undefined && (
          <Fact name={words.account}>
            <Foreign text={account} />
          </Fact>
        )}
        <Held accounts={question.accounts} />
        <Fact name={words.scopes}>
          {names.length === 0 ? (
            <span class="dim">{words.scopesNone}</span>
          ) : (
            <Scopes names={names} fresh={freshScopes(question, had)} />
          )}
        </Fact>
        <Fact name={words.asked}>
          <When at={createdAt} />
        </Fact>
      </Facts>
    </>
  );
}

/** The accounts that the program works as now. */
function Held({ accounts = [] }: Pick<Question, 'accounts'>) {
  if (accounts.length === 0) return null;
  return (
    <Fact name={words.heldAccounts}>
      {accounts.map((held) => (
        <p key={held}>
          <Foreign text={held} />
        </p>
      ))}
    </Fact>
  );
}

function Issuers({ urls }: { readonly urls: Offer['issuers'] }) {
  return (
    <p class="dim small">
      {words.issuer}: {urls.length === 0 && words.issuerLater}
      {urls.map((url) => (
        <Address key={url} url={url} />
      ))}
    </p>
  );
}
