/** What can be done about a sign-in: have it explained, sign in again, revoke it, with the receipt of that. */
import { useState } from 'preact/hooks';
import { strings } from '../../base/strings.ts';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import type { SignIn, Receipt } from '../../base/views.ts';
import { Button } from '../../parts/button.tsx';
import { ConfirmActions, Dialog, CloseAction } from '../../parts/dialog.tsx';
import { unnamed, AddressFact, Fact, Facts } from '../../parts/facts.tsx';
import { Refused } from '../../parts/notice.tsx';
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/store.ts';
import { ExplainDialog } from './explain-dialog.tsx';
import { ReceiptText, receiptWords } from './sign-in-notices.tsx';

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
    await action.run('signIn.start', { resource: endpoint, ...named, ...asked }, words.signedIn({ server }));
  };
  return (
    <>
      <Refused refusal={action.refusal} />
      <div class="actions">
        <Button
          text={action.isBusy ? words.signingIn : words.signInAgain}
          class={state === 'signInRequired' ? 'primary' : 'quiet'}
          label={action.isBusy ? undefined : words.signInAgainAt({ server })}
          isBusy={action.isBusy}
          onPress={signInAgain}
        />
        <Button
          text={words.explain}
          class="quiet"
          label={words.explainAt({ server })}
          onPress={() => explain(true)}
        />
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
        <Button
          text={isPending ? words.tellAgain : words.revoke}
          class={isPending ? 'last' : 'danger last'}
          label={isPending ? undefined : words.revokeAt({ server: sanitizeLabel(endpoint) })}
          onPress={() => revoke(true)}
        />
      )}
      {isRevoking && <RevokeDialog signIn={signIn} onClose={() => revoke(false)} />}
    </>
  );
}

const revokeWords = strings.revoke;

function RevokeDialog({ signIn, onClose }: { readonly signIn: SignIn; readonly onClose: () => void }) {
  const { id, endpoint, issuer } = signIn;
  const [receipts, setReceipts] = useState<readonly Receipt[]>();
  const action = useAction();
  const revoke = async (): Promise<void> => {
    const answer = await action.run('signIn.revoke', { id });
    if (!answer) return;
    setReceipts(answer.revoked);
    const told = answer.revoked.map(({ receipt }) => receiptWords(receipt)).join(' ');
    announce(
      revokeWords.announced({
        server: sanitizeLabel(endpoint),
        receipt: told === '' ? revokeWords.none : told,
      }),
    );
  };
  return (
    <Dialog title={receipts === undefined ? revokeWords.title : revokeWords.doneTitle} onClose={onClose}>
      <Facts>
        <AddressFact name={strings.card.server} url={endpoint} />
        <AddressFact name={strings.servers.issuer} url={issuer} />
        {receipts !== undefined && (
          <Fact name={strings.servers.receipt}>
            {receipts.length === 0 && revokeWords.none}
            {receipts.map((receipt) => (
              <ReceiptText key={receipt.id} {...receipt} />
            ))}
          </Fact>
        )}
      </Facts>
      {receipts === undefined && <p>{revokeWords.what}</p>}
      <Refused refusal={action.refusal} />
      {receipts === undefined ? (
        <ConfirmActions
          confirm={revokeWords.confirm}
          isBusy={action.isBusy}
          onCancel={onClose}
          onConfirm={revoke}
        />
      ) : (
        <CloseAction onClose={onClose} />
      )}
    </Dialog>
  );
}
