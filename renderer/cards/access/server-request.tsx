/**
 * What an app asks of one server: which one, as whom, and for which scopes; among several, with a tick of its own.
 *
 * Invariant: every word of the program or the server is shown as untrusted text.
 */
import type { ComponentChildren } from 'preact';
import type { ServerContext } from './access-context.ts';
import { Fact, Facts } from '../../parts/facts.tsx';
import { Address, UntrustedLines, UntrustedText } from '../../parts/untrusted-text.tsx';
import { Icon } from '../../parts/icon.tsx';
import { newScopes } from './lease-choices.ts';
import { KeyPlace } from '../../parts/key-place.tsx';
import { GuessNote, ScopeChoice, scopeNames } from '../../parts/scopes.tsx';
import { ScrollBox } from '../../parts/scroll-box.tsx';
import { strings } from '../../base/strings.ts';
import type { Question } from '../../base/views.ts';
import { When } from '../../parts/when.tsx';

const words = strings.card;

interface ServerRequestProps {
  readonly question: Question;
  /** Undefined until it is known. */
  readonly context: ServerContext | undefined;
  /** The scopes that are ticked. */
  readonly kept: readonly string[];
  readonly onKeep: (kept: readonly string[]) => void;
}

/** The only one of its card. */
export function OnlyServer({ question, context, kept, onKeep }: ServerRequestProps) {
  const names = scopeNames(question.scope);
  return (
    <>
      <Server question={question} context={context}>
        <p class="party-name">
          <Address url={question.resource ?? ''} />
        </p>
      </Server>
      <Facts>
        <AccountFacts question={question} />
        <AccessFact question={question} context={context}>
          <ScopeChoice names={names} fresh={freshOf(question, context)} kept={kept} onKeep={onKeep} />
          <GuessNote names={names} />
        </AccessFact>
        <TimeFact questions={[question]} />
      </Facts>
    </>
  );
}

interface OneOfSeveralProps extends ServerRequestProps {
  readonly isIncluded: boolean;
  readonly onInclude: (isIncluded: boolean) => void;
}

export function OneOfSeveral({ question, context, kept, onKeep, isIncluded, onInclude }: OneOfSeveralProps) {
  return (
    <section class={isIncluded ? 'one-of-several' : 'one-of-several left-out'}>
      <Server question={question} context={context} isKeyNamed>
        <label class="party-name">
          <input
            type="checkbox"
            checked={isIncluded}
            onChange={(event) => onInclude(event.currentTarget.checked)}
          />
          <span>
            <Address url={question.resource ?? ''} />
          </span>
        </label>
      </Server>
      <Facts>
        <AccountFacts question={question} />
        <AccessFact question={question} context={context}>
          <ScopeChoice
            names={scopeNames(question.scope)}
            fresh={freshOf(question, context)}
            kept={kept}
            onKeep={onKeep}
            isDisabled={!isIncluded}
          />
        </AccessFact>
      </Facts>
      {/* A server without scopes has to be seen as well. */}
      <span class="end" />
    </section>
  );
}

const freshOf = (question: Question, context: ServerContext | undefined): readonly string[] =>
  newScopes(question, context?.permission);

interface ServerProps extends Pick<ServerRequestProps, 'question' | 'context'> {
  /** Its address. */
  readonly children: ComponentChildren;
  /** Says that the question is about the key: the title doesn't. */
  readonly isKeyNamed?: boolean;
}

function Server({ question: { key, accounts }, context, isKeyNamed = false, children }: ServerProps) {
  return (
    <div class="party">
      <Icon name="server" />
      <div>
        <ScrollBox label={words.server}>{children}</ScrollBox>
        {context && !key && <Issuers urls={context.issuers} />}
        {key && isKeyNamed && <p class="small">{words.keyAsked}</p>}
        {context?.permission && !key && <p class="small">{accounts ? words.anotherAccount : words.more}</p>}
      </div>
    </div>
  );
}

/** Whose tokens they would be. */
function AccountFacts({ question: { account, accounts = [], tokenType } }: Pick<ServerProps, 'question'>) {
  return (
    <>
      {account !== undefined && (
        <Fact name={words.account}>
          <UntrustedText text={account} />
        </Fact>
      )}
      {accounts.length > 0 && (
        <Fact name={words.currentAccounts}>
          <UntrustedLines texts={accounts} />
        </Fact>
      )}
      {tokenType === 'DPoP' && <Fact name={strings.servers.tokenType}>{strings.servers.bound}</Fact>}
    </>
  );
}

/** Where a key goes; else the scopes, if there are any. */
function AccessFact({ question: { key, scope }, children }: ServerProps) {
  if (key) {
    return (
      <Fact name={words.keyIn}>
        <KeyPlace of={key} />
      </Fact>
    );
  }
  const hasScopes = scopeNames(scope).length > 0;
  return (
    <Fact name={words.scopes}>{hasScopes ? children : <span class="dim">{words.scopesNone}</span>}</Fact>
  );
}

/** Since when they wait, and until when the first of them does. */
export function TimeFact({ questions }: { readonly questions: readonly Question[] }) {
  const asked = Math.min(...questions.map(({ createdAt }) => createdAt));
  const ends = questions.flatMap(({ expiresAt }) => expiresAt ?? []);
  return (
    <Fact name={words.asked}>
      <When at={asked} />
      {ends.length > 0 && (
        <>
          , {words.expires} <When at={Math.min(...ends)} />
        </>
      )}
    </Fact>
  );
}

function Issuers({ urls }: { readonly urls: ServerContext['issuers'] }) {
  return (
    <p class="dim small">
      {words.issuer}: {urls.length === 0 && words.issuerLater}
      {urls.map((url) => (
        <Address key={url} url={url} />
      ))}
    </p>
  );
}
