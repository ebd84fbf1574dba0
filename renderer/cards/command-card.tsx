/**
 * The card of a command of the user's that wants to widen something: what would change, and who asks.
 *
 * Invariant: whatever the broker names of the change is on the card, under a name of its own; a
 * kind of change that this page doesn't know is said to be unknown.
 */
import type { JSX } from 'preact';
import { askedParts } from '../../words/en/asked.ts';
import { commandName } from '../../words/app-kind.ts';
import { CommandSource } from './base/requesting-app.tsx';
import { QuestionForm, type CardProps } from './base/consent-form.tsx';
import { AddressFact, Fact, Facts, TextFact, ApiKeyPlace } from '../parts/facts.tsx';
import { exceptionTarget } from '../base/untrusted-text.ts';
import { UntrustedText, Host, Name, UntrustedLines } from '../parts/untrusted-text.tsx';
import { Notice } from '../parts/notice.tsx';
import { Scopes } from '../parts/scopes.tsx';
import { scopeNames } from '../base/scopes.ts';
import { ScrollBox } from '../parts/scroll-box.tsx';
import { strings } from '../base/strings.ts';
import type { AppProcess, Question } from '../base/views.ts';
import { WhenExactly } from '../parts/when.tsx';

const words = strings.command;

export function CommandCard({ question, onDone }: CardProps) {
  const { command = 'other', apiKey: key, appProcess } = question;
  return (
    <QuestionForm
      question={question}
      onDone={onDone}
      words={{ ...words, title: <Title question={question} /> }}
    >
      <CommandLine claim={appProcess?.claim} />
      <Notice kind="warn">
        <p>{words.expected}</p>
        <p>{key && command === 'allow' ? words.allowsKey : words.descriptions[command]}</p>
        {asksNobody(question) && <p>{words.unasked}</p>}
        {question.replaces === true && <p>{key ? words.replacesKey : words.replaces}</p>}
        {question.unchecked && <p>{words.uncheckedKey}</p>}
        {question.app === commandName && <p>{key ? strings.card.cliKeyWarning : strings.card.cliWarning}</p>}
      </Notice>
      <div class="parties">
        <Change question={question} />
        <CommandSource question={question} />
      </div>
    </QuestionForm>
  );
}

function Title({ question }: Pick<CardProps, 'question'>) {
  const name = (text: string) => <UntrustedText text={text} />;
  const address = (url: string) => <Host url={url} />;
  return <>{askedParts<JSX.Element>(strings, [question], { name, address })}</>;
}

/** A word that a shell reads as it is. */
const plainWord = /^[\w@%+=:,./-]+$/;

/** The command as the user typed it, as far as its process says so. What it asks for is not taken from here. */
function CommandLine({ claim }: Pick<AppProcess, 'claim'>) {
  const [script, ...given] = claim?.arguments ?? [];
  if (script === undefined) return null;
  const program = script.split(/[/\\]/).includes('keyturn') ? 'keyturn' : script;
  const typed = [program, ...given].map((word) => (plainWord.test(word) ? word : JSON.stringify(word)));
  return (
    <ScrollBox label={words.line}>
      <p class="command-line">
        <code>
          <UntrustedText text={[...typed, ...(claim?.isCut === true ? ['…'] : [])].join(' ')} />
        </code>
      </p>
    </ScrollBox>
  );
}

function Change({ question }: { readonly question: Question }) {
  const { app, resource, account, server, issuer, clientId, exception, until } = question;
  const isPermission = question.command === 'allow';
  const isDenial = question.command === 'endDenial';
  return (
    <Facts>
      {app !== undefined && (
        <Fact name={words.app}>
          <Name text={app} />
        </Fact>
      )}
      <AddressFact name={strings.card.server} url={resource} />
      <AddressFact name={strings.card.server} url={server && exceptionTarget(server, exception ?? '')} />
      <ForwardFacts question={question} />
      {question.apiKey && (
        <Fact name={words.key}>
          <ApiKeyPlace of={question.apiKey} />
        </Fact>
      )}
      <AddressFact name={strings.card.issuer} url={issuer} />
      {question.command === 'signIn' && <SignInFacts question={question} />}
      <TextFact name={words.registration} text={clientId} />
      <ClientFacts question={question} />
      {exception !== undefined && (
        <Fact name={words.rule}>
          {strings.settings.exceptionNames[exception] ?? exception}
          <p class="small">{strings.settings.exceptionDangers[exception]}</p>
        </Fact>
      )}
      {isPermission && <TextFact name={words.account} text={account} />}
      {isDenial && question.accounts?.map((name) => <TextFact key={name} name={words.account} text={name} />)}
      {isPermission && <PermissionFacts question={question} />}
      {isDenial && <ScopesFact scope={question.scope} />}
      {until !== undefined && (
        <Fact name={words.until}>
          <WhenExactly at={until} />
        </Fact>
      )}
      <NewSetting question={question} />
    </Facts>
  );
}

/** The machine that apps would ask from, and what for. */
function ForwardFacts({ question: { forward, resources = [] } }: { readonly question: Question }) {
  if (forward === undefined) return null;
  return (
    <>
      <Fact name={words.forward}>
        <Name text={forward.label} />
      </Fact>
      <Fact name={words.hostKey}>
        {forward.hostKey === undefined ? words.sandbox : <UntrustedText text={forward.hostKey} />}
      </Fact>
      {resources.map((url) => (
        <AddressFact key={url} name={strings.card.server} url={url} />
      ))}
    </>
  );
}

/** For which account, by which way, and which scopes it asks for instead of those that the server names. */
function SignInFacts({ question: { account, method, scope, newClient } }: { readonly question: Question }) {
  return (
    <>
      <TextFact name={strings.servers.account} text={account} />
      {method !== undefined && <Fact name={words.method}>{words.methods[method]}</Fact>}
      <ScopesFact scope={scope} />
      {newClient && <Fact name={words.newClient}>{words.registersAnew}</Fact>}
    </>
  );
}

/** Kinds of clients that get tokens without a sign-in on a page. */
const asksNobody = ({ grantType }: Question): boolean =>
  grantType !== undefined && grantType !== 'authorization_code';

/** What kind of client would be entered, and how it proves itself. */
function ClientFacts({
  question: { grantType, authMethod, redirectUri, idp, assertion },
}: {
  readonly question: Question;
}) {
  return (
    <>
      {grantType !== undefined && <Fact name={words.grantType}>{words.grantTypes[grantType]}</Fact>}
      {authMethod !== undefined && (
        <Fact name={words.authMethod}>{strings.registration.proofs[authMethod]}</Fact>
      )}
      <AddressFact name={words.redirectUri} url={redirectUri} />
      <AddressFact name={words.idp} url={idp} />
      <TextFact name={words.assertion} text={assertion} />
    </>
  );
}

/** Which scopes, and until when where it names no end. */
function PermissionFacts({ question: { scope, until, apiKey: key } }: { readonly question: Question }) {
  return (
    <>
      {!key && scope === undefined && <Fact name={strings.servers.scopes}>{words.anyScope}</Fact>}
      {!key && <ScopesFact scope={scope} />}
      {until === undefined && <Fact name={words.until}>{strings.apps.untilRevoked}</Fact>}
    </>
  );
}

function ScopesFact({ scope }: Pick<Question, 'scope'>) {
  if (scope === undefined) return null;
  return (
    <Fact name={strings.servers.scopes}>
      <Scopes names={scopeNames(scope)} />
    </Fact>
  );
}

function NewSetting({ question: { setting } }: { readonly question: Question }) {
  if (setting === undefined) return null;
  const { name, value = null } = setting;
  return (
    <>
      <TextFact name={words.setting} text={name} />
      <Fact name={words.value}>
        {value === null ? words.unset : <UntrustedLines texts={[value].flat().map(String)} />}
      </Fact>
    </>
  );
}
