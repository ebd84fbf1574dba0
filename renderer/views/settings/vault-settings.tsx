/** Where secrets rest, the state of that and what to do about it; lock, unlock, lock after idle. */
import { useState } from 'preact/hooks';
import { formatDuration } from '../../base/format.ts';
import { strings } from '../../base/strings.ts';
import type { SettingDetail, Status } from '../../base/views.ts';
import { Button } from '../../parts/button.tsx';
import { Field, FoldedForm } from '../../parts/field.tsx';
import { Refused } from '../../parts/notice.tsx';
import { Mark } from '../../parts/state-mark.tsx';
import { UntrustedText } from '../../parts/untrusted-text.tsx';
import { When } from '../../parts/when.tsx';
import { useAction } from '../../state/store.ts';
import { SettingChoice } from './setting-choice.tsx';
import { UnlockButton } from '../vault/unlock.tsx';
import { unlockableStates } from '../vault/vault-banner.tsx';

const words = strings.settings;

/** Seconds without a request: from a short absence to a working day. */
const idleTimes = [300, 900, 3600, 28_800];

/** States in which the vault does what is asked of it. */
const fineStates: ReadonlySet<string> = new Set(['unused', 'open', 'slow']);

interface VaultSettingsProps {
  readonly status: Status;
  readonly details: readonly SettingDetail[];
}

export function VaultSettings({ status, details }: VaultSettingsProps) {
  const { vaultOpenedBy, vaultState } = status;
  return (
    <section class="card" aria-labelledby="vault-title">
      <h3 id="vault-title">{words.vault}</h3>
      <VaultStatus status={status} />
      <SettingChoice
        name="lockAfter"
        details={details}
        label={words.lockAfter}
        hint={words.lockAfterWhat}
        options={[
          { value: '', label: words.lockAfterNever },
          ...idleTimes.map((seconds) => ({ value: String(seconds), label: formatDuration(seconds) })),
        ]}
        valueOf={(option) => (option === '' ? null : Number(option))}
      />
      {vaultOpenedBy === 'passphrase' && vaultState.state !== 'new' && <PassphraseForm />}
    </section>
  );
}

function VaultStatus({ status }: { readonly status: Status }) {
  const { vault, vaultOpenedBy, vaultState } = status;
  const { state, since } = vaultState;
  const isUnlockable = unlockableStates.has(state);
  const isFine = fineStates.has(state);
  return (
    <div class="setting">
      <div>
        <p>
          {words.vaultKind} {words.vaultKinds[vault] ?? <UntrustedText text={vault} />}
          {vaultOpenedBy !== undefined && `, ${words.vaultKeys[vaultOpenedBy] ?? ''}`}
        </p>
        <p class="dim small">
          <Mark tone={isFine ? 'good' : 'warn'} icon={isFine ? 'check' : isUnlockable ? 'lock' : 'warn'}>
            {words.vaultStates[state] ?? <UntrustedText text={state} />}
          </Mark>{' '}
          {words.changed} <When at={since} />
        </p>
      </div>
      {isUnlockable && <UnlockButton status={status} />}
      {isFine && <LockButton />}
    </div>
  );
}

function LockButton() {
  const action = useAction();
  return (
    <>
      <Button text={words.lock} onPress={() => action.run('vault.lock', {}, words.locked)} />
      <Refused refusal={action.refusal} />
    </>
  );
}

/** Both passphrases leave their fields with the call, whatever comes of it. */
function PassphraseForm() {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const action = useAction();
  const change = async (): Promise<void> => {
    const typed = { current, next };
    setCurrent('');
    setNext('');
    await action.run('vault.passphrase', typed, words.passphraseChanged);
  };
  return (
    <FoldedForm
      title={words.changePassphrase}
      submit={words.changePassphrase}
      action={action}
      onSubmit={change}
    >
      <p class="dim small">{words.passphraseWhat}</p>
      <div class="pair">
        <Field
          label={words.currentPassphrase}
          type="password"
          value={current}
          onInput={setCurrent}
          isRequired
        />
        <Field label={words.nextPassphrase} type="password" value={next} onInput={setNext} isRequired />
      </div>
    </FoldedForm>
  );
}
