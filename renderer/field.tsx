/** A field of a form with its label, and what to know about it. */
import { useEffect, useId, useState } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: string;
  readonly type?: 'text' | 'url' | 'search' | 'password';
  readonly isRequired?: boolean;
  /** For a text of several lines. */
  readonly rows?: number;
}

export function Field({ label, value, onInput, hint, type = 'text', isRequired = false, rows }: FieldProps) {
  const id = useId();
  // Preact's types tell inputs apart by their type; the four here take the same attributes.
  const inputType = type as 'text';
  const common = {
    id,
    value,
    required: isRequired,
    autoComplete: 'off',
    spellcheck: false,
    ...(hint === undefined ? {} : { 'aria-describedby': `${id}-hint` }),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows === undefined ? (
        <input {...common} type={inputType} onInput={(event) => onInput(event.currentTarget.value)} />
      ) : (
        <textarea {...common} rows={rows} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
      {hint !== undefined && (
        <p class="dim" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

export interface Option {
  readonly value: string;
  readonly label: string;
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly Option[];
  readonly onChoose: (value: string) => void;
}

export function Choice({ label, value, options, onChoose }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  );
}

interface SwitchProps {
  readonly label: string;
  readonly isOn: boolean;
  /** Answers whether it was done. */
  readonly onSwitch: (isOn: boolean) => Promise<boolean>;
}

/** Shows what the person chose at once, and goes back where it was refused. */
export function Switch({ label, isOn, onSwitch }: SwitchProps) {
  const [chosen, choose] = useState(isOn);
  useEffect(() => choose(isOn), [isOn]);
  const change = async (wanted: boolean): Promise<void> => {
    choose(wanted);
    if (!(await onSwitch(wanted))) choose(!wanted);
  };
  return (
    <label class="switch">
      <input
        type="checkbox"
        checked={chosen}
        onChange={(event) => void change(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
