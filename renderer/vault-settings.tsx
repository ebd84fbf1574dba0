/**
 * Where secrets rest, how that stands, lock and unlock.
 *
 * Invariant: the passphrase leaves its field with the call, and nothing ever fills it in.
 */
import { useState } from 'preact/hooks';
import { announce } from './announcement.ts';
import { useDeed } from './deed.ts';
import { Fact, Facts } from './facts.tsx';
import { Choice, Field } from './field.tsx';
import { Foreign } from './foreign.tsx';
import { fit } from './foreign-text.ts';
import { Refused } from './refused.tsx';
import { strings } from './strings.ts';
import type { Settings, Status, VaultState } from './views.ts';
import { When } from './when.tsx';
import { duration } from './words.ts';

const words = strings.settings;

/** Seconds without a request: from a short absence to a working day. */
const idleTimes = [300, 900, 3600, 28_800];

interface VaultSettingsProps {
  readonly status: Status;
  readonly values: Settings;
}

export function VaultSettings({ status: { vault, vaultState }, values }: VaultSettingsProps) {
  return (
    <section class="card">
      <h3>{words.vault}</h3>
      <Facts>
        <Fact name={words.vaultKind}>{words.vaultKinds[vault] ?? <Foreign text={vault} />}</Fact>
        {vaultState && <Standing vaultState={vaultState} />}
      </Facts>
      {vaultState?.hint !== undefined && <p class="warning">{fit(vaultState.hint, 600).text}</p>}
      {vaultState && <LockAfter value={values['lockAfter']} />}
      {vaultState && <Lock isLocked={vaultState.state === 'locked'} />}
    </section>
  );
}

function Standing({ vaultState: { state, since, what } }: { readonly vaultState: VaultState }) {
  return (
    <>
      <Fact name={words.vaultState}>
        {words.vaultStates[state] ?? <Foreign text={state} />}
        {what !== undefined && <span class="dim"> {fit(what, 600).text}</span>}
      </Fact>
      {since !== undefined && (
        <Fact name={words.since}>
          <When at={since} />
        </Fact>
      )}
    </>
  );
}

function LockAfter({ value }: { readonly value: unknown }) {
  const deed = useDeed();
  const times = typeof value === 'number' && !idleTimes.includes(value) ? [...idleTimes, value] : idleTimes;
  const options = times.map((seconds) => ({ value: String(seconds), label: duration(seconds) }));
  const choose = async (chosen: string): Promise<void> => {
    const seconds = chosen === '' ? null : Number(chosen);
    if (await deed.run('settings.set', { name: 'lockAfter', value: seconds })) announce(words.saved);
  };
  return (
    <>
      <Choice
        label={words.lockAfter}
        value={typeof value === 'number' ? String(value) : ''}
        options={[{ value: '', label: words.lockAfterNever }, ...options]}
        onChoose={(chosen) => void choose(chosen)}
      />
      <Refused refusal={deed.refusal} />
    </>
  );
}

function Lock({ isLocked }: { readonly isLocked: boolean }) {
  const [passphrase, set] = useState('');
  const deed = useDeed();
  const unlock = async (): Promise<void> => {
    const given = passphrase === '' ? {} : { passphrase };
    set('');
    if (await deed.run('vault.unlock', given)) announce(words.unlocked);
  };
  const lock = async (): Promise<void> => {
    if (await deed.run('vault.lock', {})) announce(words.locked);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void (isLocked ? unlock() : lock());
      }}
    >
      {isLocked && (
        <Field
          label={words.passphrase}
          hint={words.passphraseHint}
          type="password"
          value={passphrase}
          onInput={set}
        />
      )}
      <Refused refusal={deed.refusal} />
      <div class="actions">
        <button type="submit" class={isLocked ? 'primary' : ''}>
          {isLocked ? words.unlock : words.lock}
        </button>
      </div>
    </form>
  );
}
