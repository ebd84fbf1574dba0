/**
 * Changes the passphrase of a sealed file.
 *
 * Invariant: both passphrases leave their fields with the call, whatever comes of it.
 */
import { useState } from 'preact/hooks';
import { announce } from '../../state/announcement.ts';
import { useAction } from '../../state/store.ts';
import { Field, Form } from '../../parts/field.tsx';
import { Refused } from '../../parts/refused.tsx';
import { strings } from '../../base/strings.ts';

const words = strings.settings;

export function PassphraseForm() {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const action = useAction();
  const change = async (): Promise<void> => {
    const typed = { current, next };
    setCurrent('');
    setNext('');
    if (await action.run('vault.passphrase', typed)) announce(words.passphraseChanged);
  };
  return (
    <details class="disclosure">
      <summary>{words.changePassphrase}</summary>
      <Form onSubmit={change}>
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
        <Refused refusal={action.refusal} />
        <div class="actions">
          <button type="submit" aria-disabled={action.isBusy}>
            {words.changePassphrase}
          </button>
        </div>
      </Form>
    </details>
  );
}
