/**
 * The card of a question from a program: may it be paired, may it have access?
 *
 * Invariant: every word of the program or a server is foreign text; what counts as an answer is
 * consent-form.tsx's.
 */
import { useState } from 'preact/hooks';
import { commandName, freshScopes, proposed, spansFor, standing, termsOf } from './allowance.ts';
import type { Span } from './allowance.ts';
import { announce } from './announcement.ts';
import { Asker } from './asker.tsx';
import { CommandCard } from './command-card.tsx';
import { ConsentForm } from './consent-form.tsx';
import { useDeed } from './deed.ts';
import { Fact, Facts } from './facts.tsx';
import { fitLabel } from './foreign-text.ts';
import { Address, OnCard } from './foreign.tsx';
import { Icon } from './icon.tsx';
import { Notice } from './notice.tsx';
import { scopeNames, Scopes } from './scopes.tsx';
import { ScrollBox } from './scroll-box.tsx';
import { SignInCard } from './sign-in-card.tsx';
import { SpanChoice } from './span-choice.tsx';
import { useList } from './store.ts';
import { strings } from './strings.ts';
import type { LocalClient, Permission, Question, SettingValue } from './views.ts';
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
      isComplete
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
        <Asker question={question} name={client} isRead />
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
  const { asker, setting, isRead } = useWhatIsKnown(question);
  const had = standing(question, asker);
  const spans = spansFor(question, had);
  const [wanted, choose] = useState<Span>();
  const chosen = wanted ?? proposed(spans, setting);
  const { deed, answer } = useAnswer(question, onDone);
  const { id, client = '' } = question;
  return (
    <ConsentForm
      id={id}
      title={words.titleAllow}
      help={words.help}
      approval={words.allow}
      deed={deed}
      isComplete={isRead}
      onAnswer={(given) => void answer(given)}
      onApprove={() => void answer('yes', termsOf(chosen, had, Math.floor(Date.now() / 1000)))}
    >
      <div class="parties">
        <Asker question={question} name={client} paired={asker} isRead={isRead} />
        <Wish question={question} had={had} />
      </div>
      {client === commandName && <Notice kind="warn">{words.cliWarning}</Notice>}
      <SpanChoice spans={spans} chosen={chosen} pid={question.asker?.pid} onChoose={choose} />
    </ConsentForm>
  );
}

interface Known {
  /** The paired program of that name; undefined where the name tells nobody. */
  readonly asker: LocalClient | undefined;
  /** What the person wants proposed first. */
  readonly setting: SettingValue | undefined;
  readonly isRead: boolean;
}

function useWhatIsKnown({ client }: Question): Known {
  const clients = useList('client.list');
  const settings = useList('settings.get');
  const named = clients.value?.clients.filter(({ name }) => name === client) ?? [];
  return {
    asker: named.length === 1 ? named[0] : undefined,
    setting: settings.value?.settings['defaultLease'],
    isRead: [clients, settings].every(({ value, refusal }) => value !== undefined || refusal !== undefined),
  };
}

function Wish({ question, had }: { readonly question: Question; readonly had: Permission | undefined }) {
  const { resource = '', scope, createdAt } = question;
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
          <Issuers question={question} />
          {had && <p class="small">{words.more}</p>}
        </div>
      </div>
      <Facts>
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

function Issuers({ question: { issuer, resource } }: { readonly question: Question }) {
  const grants = useList('grant.list').value?.grants ?? [];
  const known = grants.filter(({ endpoint }) => endpoint === resource).map((grant) => grant.issuer);
  const issuers = issuer === undefined ? [...new Set(known)] : [issuer];
  return (
    <p class="dim small">
      {words.issuer}: {issuers.length === 0 && words.issuerLater}
      {issuers.map((url) => (
        <Address key={url} url={url} />
      ))}
    </p>
  );
}
