/** Revoking a sign-in: a step to confirm, then the receipt. */
import { useState } from 'preact/hooks';
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/store.ts';
import { ConfirmActions, Dialog, CloseAction } from '../../parts/dialog.tsx';
import { AddressFact, Fact, Facts } from '../../parts/facts.tsx';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import { ReceiptText, receiptWords } from './receipt.tsx';
import { Refused } from '../../parts/refused.tsx';
import { strings } from '../../base/strings.ts';
import type { SignIn, Receipt } from '../../base/views.ts';

const words = strings.revoke;

interface RevokeDialogProps {
  readonly signIn: SignIn;
  readonly onClose: () => void;
}

export function RevokeDialog({ signIn, onClose }: RevokeDialogProps) {
  const { id, endpoint, issuer } = signIn;
  const [receipts, setReceipts] = useState<readonly Receipt[]>();
  const action = useAction();
  const revoke = async (): Promise<void> => {
    const answer = await action.run('signIn.revoke', { id });
    if (!answer) return;
    setReceipts(answer.revoked);
    const told = answer.revoked.map(({ receipt }) => receiptWords(receipt)).join(' ');
    announce(words.announced({ server: sanitizeLabel(endpoint), receipt: told === '' ? words.none : told }));
  };
  return (
    <Dialog title={receipts === undefined ? words.title : words.doneTitle} onClose={onClose}>
      <Facts>
        <AddressFact name={strings.card.server} url={endpoint} />
        <AddressFact name={strings.servers.issuer} url={issuer} />
        {receipts !== undefined && (
          <Fact name={strings.servers.receipt}>
            {receipts.length === 0 && words.none}
            {receipts.map((receipt) => (
              <ReceiptText key={receipt.id} {...receipt} />
            ))}
          </Fact>
        )}
      </Facts>
      {receipts === undefined && <p>{words.what}</p>}
      <Refused refusal={action.refusal} />
      {receipts === undefined ? (
        <ConfirmActions
          confirm={words.confirm}
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
