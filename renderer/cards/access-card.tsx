/**
 * The card of a program that asks for access to a server: who asks, for what, and for how long.
 *
 * Invariant: every word of the program or the server is shown as untrusted text.
 */
import { spokenRefusal } from '../base/refusal-words.ts';
import { useState } from 'preact/hooks';
import { announce } from '../state/announcement.ts';
import { call } from '../state/bridge.ts';
import { rereadAll } from '../state/store.ts';
import { emptyContext, useAccessContext } from './access-context.ts';
import type { AccessContext } from './access-context.ts';
import { ConsentForm } from './consent-form.tsx';
import type { CardProps, ConsentWords } from './consent-form.tsx';
import { Fact, Facts } from '../parts/facts.tsx';
import { sanitizeLabel } from '../base/untrusted-text.ts';
import { Address, UntrustedLines, UntrustedText } from '../parts/untrusted-text.tsx';
import { Icon } from '../parts/icon.tsx';
import { commandName, leaseParams, newScopes } from './lease-choices.ts';
import type { LeaseChoice } from './lease-choices.ts';
import { KeyPlace } from '../parts/key-place.tsx';
import { LeasePicker } from './lease-picker.tsx';
import { Notice } from '../parts/notice.tsx';
import { Refused } from '../parts/refused.tsx';
import { RequestingProgram } from './requesting-program.tsx';
import { ScopeChoice, scopeNames } from '../parts/scopes.tsx';
import { ScrollBox } from '../parts/scroll-box.tsx';
import { strings } from '../base/strings.ts';
import type { Question } from '../base/views.ts';
import { When } from '../parts/when.tsx';

const words = strings.card;

export function AccessCard({ question, onDone }: CardProps) {
  const { context, refusal } = useAccessContext(question);
  const { asker, permission, leases, first, issuers } = context ?? emptyContext;
  const content = context && JSON.stringify([question, context]);
  // A choice was made among what the card said then; of anything else it says nothing.
  const [wanted, choose] = useState<{ readonly choice: LeaseChoice; readonly content: string | undefined }>();
  const chosen = wanted !== undefined && wanted.content === content ? wanted.choice : first;
  const { client = '', scope } = question;
  const { kept, keep, reduced, isNone } = useKeptScopes(scope);
  return (
    <ConsentForm
      question={question}
      onDone={onDone}
      words={wordsFor(question)}
      content={content}
      approvalParams={() => {
        const lease = leaseParams(chosen, permission);
        return lease && { ...lease, ...reduced };
      }}
      obstacle={isNone ? words.noneKept : undefined}
      // With a permission from before it would end that too.
      undo={asker && !permission ? () => undoDenial(question, asker.clientId) : undefined}
    >
      <div class="parties">
        <RequestingProgram
          question={question}
          name={client}
          note={words.ownName}
          paired={asker}
          isRead={context !== undefined}
        />
        <AccessRequest
          question={question}
          permission={permission}
          issuers={issuers}
          kept={kept}
          onKeep={keep}
        />
      </div>
      <Warnings question={question} />
      {context && (
        <LeasePicker
          leases={leases}
          chosen={chosen}
          pid={question.asker?.pid}
          onChoose={(choice) => choose({ choice, content })}
        />
      )}
      <Refused refusal={refusal} />
    </ConsentForm>
  );
}

interface KeptScopes {
  /** Those that are ticked. */
  readonly kept: readonly string[];
  readonly keep: (kept: readonly string[]) => void;
  /** What goes with a yes: nothing where all are ticked. */
  readonly reduced: { readonly scope?: string };
  /** Scopes are asked for, and none is ticked. */
  readonly isNone: boolean;
}

function useKeptScopes(scope: string | undefined): KeptScopes {
  const names = scopeNames(scope);
  const [ticked, tick] = useState<{ readonly kept: readonly string[]; readonly of: string | undefined }>();
  // Of other scopes nothing was said yet: all of them are asked for.
  const kept = ticked !== undefined && ticked.of === scope ? ticked.kept : names;
  return {
    kept,
    keep: (next) => tick({ kept: next, of: scope }),
    reduced: kept.length < names.length ? { scope: kept.join(' ') } : {},
    isNone: names.length > 0 && kept.length === 0,
  };
}

/** What a yes means here beyond the scopes. */
function Warnings({ question: { client, key, proxied } }: Pick<CardProps, 'question'>) {
  return (
    <>
      {proxied !== undefined && (
        <Notice kind={proxied === 'program' ? 'info' : 'warn'}>{words.proxied[proxied]}</Notice>
      )}
      {key && <Notice kind="warn">{words.keyWhat}</Notice>}
      {client === commandName && <Notice kind="warn">{key ? words.cliKeyWarning : words.cliWarning}</Notice>}
    </>
  );
}

async function undoDenial({ client = '', resource = '', key }: Question, clientId: string): Promise<void> {
  const method = key ? 'key.permission.end' : 'permission.end';
  const answer = await call(method, { client: clientId, resource });
  const { undone } = strings.programs;
  announce(
    answer.ok
      ? undone({ program: sanitizeLabel(client), server: sanitizeLabel(resource) })
      : spokenRefusal(answer.refusal),
  );
  rereadAll();
}

/** Characters of a name in the title; the whole one stands below. */
const maxTitleName = 40;

/** The question in one sentence. The name is the program's own choice, which stands below it. */
function Title({ question: { client = '', resource = '', key } }: Pick<CardProps, 'question'>) {
  const parts = words[key ? 'titleKey' : 'titleAllow'].parts({
    app: <UntrustedText text={client} bound={maxTitleName} />,
    server: <UntrustedText text={URL.parse(resource)?.host ?? resource} bound={maxTitleName} />,
  });
  return <>{parts}</>;
}

function wordsFor(question: Question): ConsentWords {
  const { client = '', key } = question;
  const name = sanitizeLabel(client);
  return {
    title: <Title question={question} />,
    help: words.help,
    confirm: words.allow,
    deny: words.denyAlways,
    answered: {
      yes: key ? words.keyGiven({ program: name }) : words.allowed({ program: name }),
      no: words.deniedAlways({ program: name }),
      later: words.postponed,
    },
  };
}

interface AccessRequestProps extends Pick<AccessContext, 'permission'> {
  readonly question: Question;
  /** Undefined until they are known. */
  readonly issuers: AccessContext['issuers'] | undefined;
  /** The scopes that are ticked. */
  readonly kept: readonly string[];
  readonly onKeep: (kept: readonly string[]) => void;
}

function AccessRequest({ question, permission, issuers, kept, onKeep }: AccessRequestProps) {
  const { resource = '', scope, account, tokenType, createdAt, expiresAt, key } = question;
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
          {issuers && !key && <Issuers urls={issuers} />}
          {permission && !key && <p class="small">{question.accounts ? words.anotherAccount : words.more}</p>}
        </div>
      </div>
      <Facts>
        {account !== undefined && (
          <Fact name={words.account}>
            <UntrustedText text={account} />
          </Fact>
        )}
        <CurrentAccounts accounts={question.accounts} />
        {tokenType === 'DPoP' && <Fact name={strings.servers.tokenType}>{strings.servers.bound}</Fact>}
        {key && (
          <Fact name={words.keyIn}>
            <KeyPlace of={key} />
          </Fact>
        )}
        {!key && (
          <Fact name={words.scopes}>
            {names.length === 0 ? (
              <span class="dim">{words.scopesNone}</span>
            ) : (
              <ScopeChoice
                names={names}
                fresh={newScopes(question, permission)}
                kept={kept}
                onKeep={onKeep}
              />
            )}
          </Fact>
        )}
        <Fact name={words.asked}>
          <When at={createdAt} />
          {expiresAt !== undefined && (
            <>
              , {words.expires} <When at={expiresAt} />
            </>
          )}
        </Fact>
      </Facts>
    </>
  );
}

/** The accounts that the program works as now. */
function CurrentAccounts({ accounts = [] }: Pick<Question, 'accounts'>) {
  if (accounts.length === 0) return null;
  return (
    <Fact name={words.currentAccounts}>
      <UntrustedLines texts={accounts} />
    </Fact>
  );
}

function Issuers({ urls }: { readonly urls: AccessContext['issuers'] }) {
  return (
    <p class="dim small">
      {words.issuer}: {urls.length === 0 && words.issuerLater}
      {urls.map((url) => (
        <Address key={url} url={url} />
      ))}
    </p>
  );
}
