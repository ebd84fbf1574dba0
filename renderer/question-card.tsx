/**
 * The card of a question from a program: may it be paired, may it have access?
 *
 * Invariants: deny is the default: Enter presses it wherever the focus is, and neither Enter nor
 * Escape ever approves. Approval takes a trusted click or the space bar on a card that is armed
 * (armed.ts). Every word of the program or a server is foreign text.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { allowing, commandName, spansFor, standing } from './allowance.ts';
import type { Span } from './allowance.ts';
import { announce } from './announcement.ts';
import { useArmed } from './armed.ts';
import { Asker } from './asker.tsx';
import { useDeed } from './deed.ts';
import { Fact, Facts } from './facts.tsx';
import { Address } from './foreign.tsx';
import { fitLabel } from './foreign-text.ts';
import { Refused } from './refused.tsx';
import { scopeNames, Scopes } from './scopes.tsx';
import { SignInCard } from './sign-in-card.tsx';
import { useList } from './store.ts';
import { strings } from './strings.ts';
import type { LocalClient, Permission, Question } from './views.ts';
import { When } from './when.tsx';

const words = strings.card;

interface CardProps {
  readonly question: Question;
  /** The question is answered. */
  readonly onDone: () => void;
}

export function QuestionCard({ question, onDone }: CardProps) {
  const { kind } = question;
  if (kind === 'login' || kind === 'device') return <SignInCard question={question} onDone={onDone} />;
  return <ConsentCard question={question} onDone={onDone} />;
}

function ConsentCard({ question, onDone }: CardProps) {
  const { asker, isRead } = useAsker(question);
  const had = standing(question, asker);
  const isPairing = question.kind === 'pair';
  const spans = isPairing ? [] : spansFor(question, asker);
  const [span, choose] = useState<Span>('hour');
  const chosen = spans.some(({ value }) => value === span) ? span : 'untilRevoked';
  const deed = useDeed();
  const name = fitLabel(question.client ?? '');
  const finish = (sentence: string): void => {
    announce(sentence);
    onDone();
  };
  const answer = async (kind: 'no' | 'later'): Promise<void> => {
    const done = await deed.run('interaction.answer', { id: question.id, answer: kind });
    if (done) finish(kind === 'no' ? words.denied(name) : words.postponed);
  };
  const approve = async (): Promise<void> => {
    const { channel, params } = allowing(question, chosen, Math.floor(Date.now() / 1000));
    if (await deed.run(channel, params)) finish(isPairing ? words.paired(name) : words.allowed(name));
  };
  return (
    <form
      class="question"
      onSubmit={(event) => {
        event.preventDefault();
        void answer('no');
      }}
    >
      <h3>{isPairing ? words.titlePair : words.titleAllow}</h3>
      {isPairing ? <Digits code={question.code ?? ''} /> : null}
      <Asker question={question} asker={asker} isRead={isRead} />
      {!isPairing && <Wish question={question} had={had} />}
      {spans.length > 1 && <Spans chosen={chosen} spans={spans} onChoose={choose} />}
      <Refused refusal={deed.refusal} />
      <Answers
        question={question}
        isBusy={deed.isBusy}
        isComplete={isRead}
        onLater={() => void answer('later')}
        onApprove={() => void approve()}
      />
    </form>
  );
}

/** The paired program of that name; undefined where the name tells nobody. */
function useAsker({ kind, client }: Question): { asker: LocalClient | undefined; isRead: boolean } {
  const { value, refusal } = useList('client.list');
  const named = value?.clients.filter(({ name }) => kind === 'allow' && name === client) ?? [];
  return {
    asker: named.length === 1 ? named[0] : undefined,
    isRead: kind === 'pair' || value !== undefined || refusal !== undefined,
  };
}

function Digits({ code }: { readonly code: string }) {
  return (
    <div class="digits">
      <p>{words.digits}</p>
      <p class="code" aria-label={Array.from(code).join(' ')}>
        {code}
      </p>
    </div>
  );
}

function Wish({ question, had }: { readonly question: Question; readonly had: Permission | undefined }) {
  const { resource = '', issuer, scope, client, createdAt } = question;
  const names = scopeNames(scope);
  const known = scopeNames(had?.scope);
  const fresh = had?.scope === undefined ? [] : names.filter((name) => !known.includes(name));
  const grants = useList('grant.list').value?.grants ?? [];
  const issuers = [...new Set(grants.filter(({ endpoint }) => endpoint === resource).map((g) => g.issuer))];
  const named = issuer === undefined ? issuers : [issuer];
  return (
    <Facts>
      <Fact name={words.server}>
        <Address url={resource} />
        {had && <p class="dim">{words.more}</p>}
      </Fact>
      <Fact name={words.issuer}>
        {named.map((url) => (
          <Address key={url} url={url} />
        ))}
        {named.length === 0 && <span class="dim">{words.issuerLater}</span>}
      </Fact>
      <Fact name={words.scopes}>
        {names.length === 0 ? (
          <span class="dim">{words.scopesNone}</span>
        ) : (
          <Scopes names={names} fresh={fresh} />
        )}
      </Fact>
      {(client === commandName || had) && (
        <Fact name={words.howLong}>{had ? words.sameAsBefore : words.cliHour}</Fact>
      )}
      <Fact name={words.asked}>
        <When at={createdAt} />
      </Fact>
    </Facts>
  );
}

interface SpansProps {
  readonly chosen: Span;
  readonly spans: ReturnType<typeof spansFor>;
  readonly onChoose: (span: Span) => void;
}

function Spans({ chosen, spans, onChoose }: SpansProps) {
  return (
    <fieldset>
      <legend>{words.howLong}</legend>
      {spans.map(({ value, label }) => (
        <label key={value} class="switch">
          <input
            type="radio"
            name="span"
            checked={value === chosen}
            onChange={() => onChoose(value === 'hour' ? 'hour' : 'untilRevoked')}
          />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}

interface AnswersProps {
  readonly question: Question;
  readonly isBusy: boolean;
  /** All that the card has to say is on it: before that nothing may be approved. */
  readonly isComplete: boolean;
  readonly onLater: () => void;
  readonly onApprove: () => void;
}

function Answers({ question, isBusy, isComplete, onLater, onApprove }: AnswersProps) {
  const isArmed = useArmed(question.id) && isComplete;
  const deny = useRef<HTMLButtonElement>(null);
  useEffect(() => deny.current?.focus(), [question.id]);
  const isPairing = question.kind === 'pair';
  return (
    <>
      <p class="dim" id="card-help">
        {isPairing ? words.helpPair : words.help}
      </p>
      <div class="actions" aria-busy={isBusy}>
        <button type="submit" class="danger" ref={deny}>
          {words.deny}
        </button>
        <button type="button" onClick={onLater}>
          {words.later}
        </button>
        <button
          type="button"
          class="primary"
          disabled={!isArmed}
          aria-describedby="card-help"
          onKeyDown={(event) => {
            if (event.key === 'Enter') event.preventDefault();
          }}
          onClick={(event) => {
            // A script can click too; only a person's own act counts.
            if (event.isTrusted && isArmed) onApprove();
          }}
        >
          {isPairing ? words.pair : words.allow}
        </button>
      </div>
    </>
  );
}
