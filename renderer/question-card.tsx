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
import { announce } from './announcement.ts';
import { Asker } from './asker.tsx';
import { CommandCard } from './command-card.tsx';
import { ConsentForm } from './consent-form.tsx';
import { useDeed } from './deed.ts';
import { Fact, Facts } from './facts.tsx';
import { fitLabel } from './foreign-text.ts';
import { Address, Foreign, OnCard } from './foreign.tsx';
import { Icon } from './icon.tsx';
import { Notice } from './notice.tsx';
import { nothingOffered, useOffer } from './offer.ts';
import type { Offer } from './offer.ts';
import { Refused } from './refused.tsx';
import { scopeNames, Scopes } from './scopes.tsx';
import { SettingsCard } from './settings-card.tsx';
import { ScrollBox } from './scroll-box.tsx';
import { SignInCard } from './sign-in-card.tsx';
import { SpanChoice } from './span-choice.tsx';
import { strings } from './strings.ts';
import type { Question } from './views.ts';
import { When } from './when.tsx';

const words = strings.card;

export interface CardProps {
  readonly question: Question;
  /** The question is answered. */
  readonly onDone: () => void;
}

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
  const { id, client = '', code = '' } = question;
  const { deed, answer } = useAnswer(question, onDone);
  return (
    <ConsentForm
      id={id}
      title={words.titlePair}
      help={words.helpPair}
      approval={words.pair}
      deed={deed}
      said={JSON.stringify(question)}
      onAnswer={(given) => void answer(given)}
      onApprove={() => void answer('yes')}
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

/** A word to the question; a yes may have its terms. */
function useAnswer(question: Question, onDone: () => void) {
  const deed = useDeed();
  const name = fitLabel(question.client ?? '');
  const sentences = {
    yes: question.kind === 'pair' ? words.paired(name) : words.allowed(name),
    no: words.denied(name),
    later: words.postponed,
  };
  const answer = async (given: keyof typeof sentences, terms = {}): Promise<void> => {
    if (!(await deed.run('interaction.answer', { id: question.id, answer: given, ...terms }))) return;
    announce(sentences[given]);
    onDone();
  };
  return { deed, answer };
}

function AllowCard({ question, onDone }: CardProps) {
  const { offer, refusal } = useOffer(question);
  const { asker, had, spans, first, issuers } = offer ?? nothingOffered;
  const said = offer && JSON.stringify([question, offer]);
  // A choice was made among what the card said then; of anything else it says nothing.
  const [wanted, choose] = useState<{ readonly span: Span; readonly of: string | undefined }>();
  const chosen = wanted !== undefined && wanted.of === said ? wanted.span : first;
  const { deed, answer } = useAnswer(question, onDone);
  const { id, client = '' } = question;
  const allow = (): void => {
    const terms = termsOf(chosen, had);
    if (terms) void answer('yes', terms);
  };
  return (
    <ConsentForm
      id={id}
      title={words.titleAllow}
      help={words.help}
      approval={words.allow}
      deed={deed}
      said={said}
      onAnswer={(given) => void answer(given)}
      onApprove={allow}
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
