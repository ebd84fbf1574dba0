/**
 * What an app asks of one server: which one, as whom, and for which scopes; among several, with a tick of its own.
 *
 * Invariant: every word of the app or the server is shown as untrusted text.
 */
import type { ComponentChildren } from 'preact';
import { newScopes, type ServerContext } from './access-context.ts';
import { AccountName, Fact, Facts, ApiKeyPlace } from '../../parts/facts.tsx';
import { Address, UntrustedLines } from '../../parts/untrusted-text.tsx';
import { Icon } from '../../parts/icon.tsx';
import { GuessNote, ScopeChoice } from '../../parts/scopes.tsx';
import { scopeNames } from '../../base/scopes.ts';
import { ScrollBox } from '../../parts/scroll-box.tsx';
import { strings } from '../../base/strings.ts';
import type { Question } from '../../base/views.ts';

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
export function OnlyServer(props: ServerRequestProps) {
  const { question } = props;
  return (
    <>
      <div class="party">
        <Icon name="key" />
        <div>
          <Asked {...props} />
          <GuessNote names={scopeNames(question.scope)} />
        </div>
      </div>
      <Server {...props}>
        <p class="party-name">
          <Address url={question.resource ?? ''} />
        </p>
      </Server>
    </>
  );
}

interface OneOfSeveralProps extends ServerRequestProps {
  readonly isIncluded: boolean;
  readonly onInclude: (isIncluded: boolean) => void;
}

export function OneOfSeveral({ isIncluded, onInclude, ...props }: OneOfSeveralProps) {
  return (
    <section class={isIncluded ? 'one-of-several' : 'one-of-several left-out'}>
      <Server {...props} asked={<Asked {...props} isDisabled={!isIncluded} />}>
        <label class="party-name">
          <input
            type="checkbox"
            checked={isIncluded}
            onChange={(event) => onInclude(event.currentTarget.checked)}
          />
          <span>
            <Address url={props.question.resource ?? ''} />
          </span>
        </label>
      </Server>
      {/* A server without scopes has to be seen as well. */}
      <span class="end" />
    </section>
  );
}

interface ServerProps extends Pick<ServerRequestProps, 'question' | 'context'> {
  /** Its address. */
  readonly children: ComponentChildren;
  /** What is asked there, if that isn't said elsewhere. */
  readonly asked?: ComponentChildren;
}

/** Which server, by whose sign-in, and whose tokens they would be. */
function Server({ question, context, asked, children }: ServerProps) {
  const { apiKey: key, account, accounts = [], tokenType } = question;
  return (
    <div class="party">
      <Icon name="server" />
      <div>
        <ScrollBox label={words.server}>{children}</ScrollBox>
        {asked}
        <Facts>
          {context && !key && (
            <Fact name={words.issuer}>
              {context.issuers.length === 0 && <span class="dim">{words.issuerLater}</span>}
              {context.issuers.map((url) => (
                <Address key={url} url={url} />
              ))}
            </Fact>
          )}
          {(account !== undefined || !key) && (
            <Fact name={words.account}>
              {account === undefined ? (
                <span class="dim">{words.accountLater}</span>
              ) : (
                <AccountName name={account} />
              )}
            </Fact>
          )}
          {accounts.length > 0 && (
            <Fact name={words.currentAccounts}>
              <UntrustedLines texts={accounts} />
            </Fact>
          )}
          {tokenType === 'DPoP' && <Fact name={strings.servers.tokenType}>{strings.servers.bound}</Fact>}
        </Facts>
      </div>
    </div>
  );
}

interface AskedProps extends ServerRequestProps {
  readonly isDisabled?: boolean;
}

/** Where a key goes; else the scopes, if there are any. */
function Asked({
  question: { apiKey: key, scope, accounts },
  context,
  kept,
  onKeep,
  isDisabled = false,
}: AskedProps) {
  const names = scopeNames(scope);
  if (key) {
    return (
      <div>
        <p>{words.keyAsked}</p>
        <ScrollBox label={words.keyIn}>
          <ApiKeyPlace of={key} />
        </ScrollBox>
      </div>
    );
  }
  const permission = context?.permission;
  const more = accounts ? words.anotherAccount : words.more;
  return (
    <div>
      {permission && <p class="small">{more}</p>}
      {names.length === 0 ? (
        <p>{words.scopesNone}</p>
      ) : (
        <>
          <p class="dim small">{words.asksFor}</p>
          <ScrollBox label={words.scopes}>
            <ScopeChoice
              names={names}
              fresh={newScopes({ scope }, permission)}
              kept={kept}
              onKeep={onKeep}
              isDisabled={isDisabled}
            />
          </ScrollBox>
        </>
      )}
    </div>
  );
}
