/**
 * One grant: server and issuer side by side, who is signed in, what was granted, how it stands.
 *
 * Invariant: the issuer always stands with the server.
 */
import { useState } from 'preact/hooks';
import { announce } from './announcement.ts';
import { useDeed } from './deed.ts';
import { Fact, Facts } from './facts.tsx';
import { Address, Foreign } from './foreign.tsx';
import { fitLabel } from './foreign-text.ts';
import { ReceiptText } from './receipt.tsx';
import { Refused } from './refused.tsx';
import { RevokeDialog } from './revoke-dialog.tsx';
import { scopeNames, Scopes } from './scopes.tsx';
import { strings } from './strings.ts';
import type { Grant, Trouble } from './views.ts';
import { When } from './when.tsx';
import { listed } from './words.ts';

const words = strings.servers;

/** The broker's word for an account that nobody named. */
const unnamed = 'default';

export function GrantCard({ grant }: { readonly grant: Grant }) {
  const { endpoint, resource, issuer, account, scope, state } = grant;
  return (
    <article class={state === 'revoked' ? 'card over' : 'card'}>
      <header>
        <h3>
          <Address url={endpoint} />
        </h3>
        <State state={state} />
      </header>
      {resource !== endpoint && (
        <p class="dim">
          <Foreign text={resource} />
        </p>
      )}
      <Facts>
        <Fact name={words.issuer}>
          <Address url={issuer} />
        </Fact>
        <Fact name={words.account}>
          {account === undefined || account === unnamed ? (
            <span class="dim">{words.accountDefault}</span>
          ) : (
            <Foreign text={account} />
          )}
        </Fact>
        <Fact name={words.scopes}>
          <Scopes names={scopeNames(scope)} />
        </Fact>
        <Standing grant={grant} />
      </Facts>
      <GrantActions grant={grant} />
    </article>
  );
}

function State({ state }: { readonly state: string }) {
  const known = Object.hasOwn(strings.state, state) ? strings.state[state] : undefined;
  return (
    <span class={`state state-${known === undefined ? 'other' : state}`}>
      {known ?? <Foreign text={state} />}
    </span>
  );
}

function Standing({ grant }: { readonly grant: Grant }) {
  const { state, expires_at, lastRefreshedAt, clients, overrides, trouble, receipt } = grant;
  return (
    <>
      {state !== 'revoked' && expires_at !== undefined && (
        <Fact name={words.expires}>
          <When at={expires_at} />
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
        {clients.length === 0 ? (
          <span class="dim">{words.usedByNobody}</span>
        ) : (
          listed(clients.map((name) => fitLabel(name)))
        )}
      </Fact>
      {overrides.length > 0 && (
        <Fact name={words.waived}>
          {listed(overrides.map((name) => strings.settings.overrideNames[name] ?? name))}
        </Fact>
      )}
      {trouble && <TroubleFact trouble={trouble} />}
      {receipt !== undefined && (
        <Fact name={words.receipt}>
          <ReceiptText {...grant} receipt={receipt} />
        </Fact>
      )}
    </>
  );
}

function TroubleFact({ trouble: { reason, since, nextTryAt } }: { readonly trouble: Trouble }) {
  return (
    <Fact name={words.trouble}>
      <Foreign text={reason} />
      {since !== undefined && (
        <>
          {', '}
          {words.troubleSince} <When at={since} />
        </>
      )}
      {nextTryAt !== undefined && (
        <>
          {', '}
          {words.nextTry} <When at={nextTryAt} />
        </>
      )}
    </Fact>
  );
}

function GrantActions({ grant }: { readonly grant: Grant }) {
  const { endpoint, account, scope, state, receipt } = grant;
  const deed = useDeed();
  const [isRevoking, setRevoking] = useState(false);
  const server = fitLabel(endpoint);
  const isOver = state === 'revoked' && receipt !== 'pending';
  const signIn = async (): Promise<void> => {
    const named = account === undefined || account === unnamed ? {} : { account };
    // As much as before: without scopes the server would choose, and programs could lose what they have.
    const asked = scope === '' ? {} : { scope };
    if (await deed.run('login.start', { resource: endpoint, ...named, ...asked }))
      announce(words.signedIn(server));
  };
  return (
    <>
      <Refused refusal={deed.refusal} />
      <div class="actions">
        <button
          type="button"
          class={state === 'loginRequired' ? 'primary' : ''}
          aria-label={deed.isBusy ? undefined : words.signInAgainAt(server)}
          aria-disabled={deed.isBusy}
          onClick={() => void signIn()}
        >
          {deed.isBusy ? words.signingIn : words.signInAgain}
        </button>
        {!isOver && (
          <button
            type="button"
            class="danger"
            aria-label={words.revokeAt(server)}
            onClick={() => setRevoking(true)}
          >
            {words.revoke}
          </button>
        )}
      </div>
      {isRevoking && <RevokeDialog grant={grant} onClose={() => setRevoking(false)} />}
    </>
  );
}
