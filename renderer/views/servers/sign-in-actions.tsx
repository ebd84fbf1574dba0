/** What can be done about a sign-in: have it explained, sign in again, revoke. */
import { useState } from 'preact/hooks';
import { unnamed } from '../../parts/account-name.tsx';
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/store.ts';
import { ExplainDialog } from './explain-dialog.tsx';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import { Refused } from '../../parts/refused.tsx';
import { RevokeDialog } from './revoke-dialog.tsx';
import { strings } from '../../base/strings.ts';
import type { SignIn } from '../../base/views.ts';

const words = strings.servers;

export function SignInActions({ signIn }: { readonly signIn: SignIn }) {
  const { endpoint, account, scope, state } = signIn;
  const action = useAction();
  const [isExplaining, explain] = useState(false);
  const server = sanitizeLabel(endpoint);
  const signInAgain = async (): Promise<void> => {
    const named = account === undefined || account === unnamed ? {} : { account };
    // As much as before: without scopes the server would choose, and apps could lose what they have.
    const asked = scope === '' ? {} : { scope };
    if (await action.run('signIn.start', { resource: endpoint, ...named, ...asked }))
      announce(words.signedIn({ server }));
  };
  return (
    <>
      <Refused refusal={action.refusal} />
      <div class="actions">
        <button
          type="button"
          class={state === 'signInRequired' ? 'primary' : 'quiet'}
          aria-label={action.isBusy ? undefined : words.signInAgainAt({ server })}
          aria-disabled={action.isBusy}
          onClick={() => void signInAgain()}
        >
          {action.isBusy ? words.signingIn : words.signInAgain}
        </button>
        <button
          type="button"
          class="quiet"
          aria-label={words.explainAt({ server })}
          onClick={() => explain(true)}
        >
          {words.explain}
        </button>
        <Revocation signIn={signIn} />
      </div>
      {isExplaining && <ExplainDialog signIn={signIn} onClose={() => explain(false)} />}
    </>
  );
}

/** To revoke once more is to tell the issuer now, where it was not told yet. */
function Revocation({ signIn }: { readonly signIn: SignIn }) {
  const { endpoint, state, receipt } = signIn;
  const [isRevoking, revoke] = useState(false);
  const isPending = receipt === 'pending';
  const isOver = state === 'revoked' && !isPending;
  return (
    <>
      {!isOver && (
        <button
          type="button"
          class={isPending ? 'last' : 'danger last'}
          aria-label={isPending ? undefined : words.revokeAt({ server: sanitizeLabel(endpoint) })}
          onClick={() => revoke(true)}
        >
          {isPending ? words.tellAgain : words.revoke}
        </button>
      )}
      {isRevoking && <RevokeDialog signIn={signIn} onClose={() => revoke(false)} />}
    </>
  );
}
