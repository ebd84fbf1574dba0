/**
 * Unlocks the vault: at once where the keychain opens it, after a passphrase where that does. One that never
 * had a passphrase gets its first here.
 *
 * Invariant: the passphrase leaves its field with the call, whatever comes of it, and nothing ever
 * fills it in.
 */
import { useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { useAction } from '../../state/store.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Field, Form } from '../../parts/field.tsx';
import { Refused } from '../../parts/notice.tsx';
import { strings } from '../../base/strings.ts';
import type { Status } from '../../base/views.ts';

const words = strings.settings;

export function UnlockButton({ status: { vaultOpenedBy, vaultState } }: { readonly status: Status }) {
  const action = useAction();
  const [isAsking, ask] = useState(false);
  const isNew = vaultState.state === 'new';
  return (
    <>
      <Button
        text={action.isBusy ? words.unlocking : isNew ? words.choose : words.unlock}
        class="primary"
        isBusy={action.isBusy}
        onPress={() =>
          vaultOpenedBy === 'passphrase' ? ask(true) : action.run('vault.unlock', {}, words.unlocked)
        }
      />
      <Refused refusal={action.refusal} />
      {isAsking && <UnlockDialog isNew={isNew} onClose={() => ask(false)} />}
    </>
  );
}

interface UnlockDialogProps {
  /** It is chosen now, and so typed twice. */
  readonly isNew: boolean;
  readonly onClose: () => void;
}

function UnlockDialog({ isNew, onClose }: UnlockDialogProps) {
  const [passphrase, set] = useState('');
  const [again, setAgain] = useState('');
  const [differs, setDiffers] = useState(false);
  const action = useAction();
  const unlock = async (): Promise<void> => {
    const typed = passphrase;
    set('');
    setAgain('');
    setDiffers(isNew && typed !== again);
    if (isNew && typed !== again) return;
    if (await action.run('vault.unlock', { passphrase: typed }, words.unlocked)) onClose();
  };
  return (
    <Dialog title={isNew ? words.choose : words.unlockTitle} onClose={onClose}>
      <Form onSubmit={unlock}>
        <Field
          label={words.passphrase}
          hint={isNew ? words.chooseHint : words.passphraseHint}
          type="password"
          value={passphrase}
          onInput={set}
          isRequired
          isFirst
        />
        {isNew && <Field label={words.repeat} type="password" value={again} onInput={setAgain} isRequired />}
        {differs && <p role="alert">{words.differs}</p>}
        <Refused refusal={action.refusal} />
        <div class="actions">
          <Button text={strings.cancel} onPress={onClose} />
          <button type="submit" class="primary" aria-disabled={action.isBusy}>
            {action.isBusy ? words.unlocking : isNew ? words.choose : words.unlock}
          </button>
        </div>
      </Form>
    </Dialog>
  );
}
