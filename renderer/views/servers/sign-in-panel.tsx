/**
 * One sign-in: server and issuer side by side, who is signed in, what was granted, its state.
 *
 * Invariant: the issuer is always with the server.
 */
import { useMemo } from 'preact/hooks';
import { Expiry, When } from '../../parts/when.tsx';
import { Fact, Facts, AccountName } from '../../parts/facts.tsx';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import { Address, UntrustedText } from '../../parts/untrusted-text.tsx';
import { SignInActions } from './sign-in-actions.tsx';
import { SignInNotices } from './sign-in-notices.tsx';
import { Scopes } from '../../parts/scopes.tsx';
import { scopeNames } from '../../base/scopes.ts';
import { SignInState } from '../../parts/state-mark.tsx';
import { strings } from '../../base/strings.ts';
import type { SignIn } from '../../base/views.ts';
import { formatList, formatNumber } from '../../base/format.ts';

const words = strings.servers;

/** Apps named of one sign-in; the rest is a number. */
const maxNamed = 8;

/** Drawn again only for another sign-in: a list of hundreds is read at every change. */
export function SignInPanel({ signIn }: { readonly signIn: SignIn }) {
  return useMemo(() => <Card signIn={signIn} />, [signIn]);
}

function Card({ signIn }: { readonly signIn: SignIn }) {
  const { endpoint, resource, issuer, scope, state, trouble } = signIn;
  return (
    <article class={state === 'revoked' ? 'card over' : 'card'}>
      <header>
        <div class="card-title">
          <h3>
            <Address url={endpoint} />
          </h3>
          <p class="dim">
            {words.issuer} <Address url={issuer} />
          </p>
          {resource !== endpoint && (
            <p class="dim small">
              <UntrustedText text={resource} />
            </p>
          )}
        </div>
        <SignInState state={state} isTroubled={trouble !== undefined} />
      </header>
      <SignInNotices signIn={signIn} />
      <Facts isGrid>
        <Fact name={words.scopes} isWide>
          <Scopes names={scopeNames(scope)} />
        </Fact>
        <SignInFacts signIn={signIn} />
      </Facts>
      <SignInActions signIn={signIn} />
    </article>
  );
}

function SignInFacts({ signIn }: { readonly signIn: SignIn }) {
  const {
    state,
    account,
    expires_at,
    lastRefreshedAt,
    apps: clients,
    audience,
    exceptions,
    tokenType,
  } = signIn;
  return (
    <>
      <Fact name={words.account}>
        <AccountName name={account} />
      </Fact>
      {state !== 'revoked' && (
        <Fact name={words.expires}>
          <Expiry at={expires_at} />
        </Fact>
      )}
      <Fact name={words.refreshed}>
        {lastRefreshedAt === undefined ? (
          <span class="dim">{strings.never}</span>
        ) : (
          <When at={lastRefreshedAt} />
        )}
      </Fact>
      <Fact name={words.usedBy}>
        {clients.length === 0 ? <span class="dim">{words.usedByNobody}</span> : usedBy(clients)}
      </Fact>
      {audience !== undefined && audience !== 'resource' && (
        <Fact name={words.audience} isWide>
          {words.audiences[audience]}
        </Fact>
      )}
      {tokenType === 'DPoP' && (
        <Fact name={words.tokenType} isWide>
          {words.bound}
        </Fact>
      )}
      {exceptions.length > 0 && (
        <Fact name={words.waived} isWide>
          {formatList(exceptions.map((name) => strings.settings.exceptionNames[name] ?? name))}
        </Fact>
      )}
    </>
  );
}

function usedBy(clients: readonly string[]): string {
  const more = clients.length - maxNamed;
  const names = clients.slice(0, maxNamed).map((name) => sanitizeLabel(name));
  return formatList(more > 0 ? [...names, words.more({ count: formatNumber(more) })] : names);
}
