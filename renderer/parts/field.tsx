/** A form, and a field of it with its label and what to know about it. */
import type { Action } from '../state/store.ts';
import { Refused } from './notice.tsx';
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: string;
  readonly type?: 'text' | 'url' | 'search' | 'password';
  readonly isRequired?: boolean;
  /** For a text of several lines. */
  readonly rows?: number;
  /** Has the focus as soon as it is there. */
  readonly isFirst?: boolean;
}

export function Field({
  label,
  value,
  onInput,
  hint,
  type = 'text',
  isRequired = false,
  rows,
  isFirst = false,
}: FieldProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  // In the moment it is drawn: a later focus could take it from where the user went meanwhile.
  useLayoutEffect(() => {
    if (isFirst) input.current?.focus();
  }, [isFirst]);
  // Preact's types tell inputs apart by their type; the four here take the same attributes.
  const inputType = type as 'text';
  const common = {
    id,
    value,
    required: isRequired,
    autoComplete: 'off',
    spellcheck: false,
    ...describedBy(id, hint),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Hint of={id} text={hint} />
      {rows === undefined ? (
        <input
          {...common}
          ref={input}
          type={inputType}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      ) : (
        <textarea {...common} rows={rows} onInput={(event) => onInput(event.currentTarget.value)} />
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
  readonly hint?: string | undefined;
  /** Label and hint on the left, the control on the right. */
  readonly isRow?: boolean;
  /** Shown beside the label. */
  readonly mark?: ComponentChildren;
}

export function Choice({ label, value, options, onChoose, hint, isRow = false, mark }: ChoiceProps) {
  const id = useId();
  return (
    <div class={isRow ? 'setting' : 'field'}>
      <div>
        <label for={id}>{label}</label> {mark}
        <Hint of={id} text={hint} />
      </div>
      <select
        id={id}
        value={value}
        {...describedBy(id, hint)}
        onChange={(event) => onChoose(event.currentTarget.value)}
      >
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
  readonly hint: string;
  readonly isOn: boolean;
  /** Undefined where it was refused. */
  readonly onSwitch: (isOn: boolean) => Promise<object | undefined>;
}

/** Shows what the user chose at once, and goes back where it was refused. */
export function Switch({ label, hint, isOn, onSwitch }: SwitchProps) {
  const id = useId();
  const [chosen, choose] = useState(isOn);
  // An effect after the drawing would take back what the user chose meanwhile.
  useLayoutEffect(() => choose(isOn), [isOn]);
  const change = async (wanted: boolean): Promise<void> => {
    choose(wanted);
    if ((await onSwitch(wanted)) === undefined) choose(!wanted);
  };
  return (
    <div class="setting">
      <div>
        <label for={id}>{label}</label>
        <Hint of={id} text={hint} />
      </div>
      <input
        id={id}
        type="checkbox"
        role="switch"
        class="toggle"
        checked={chosen}
        {...describedBy(id, hint)}
        onChange={(event) => void change(event.currentTarget.checked)}
      />
    </div>
  );
}

/** What to know about the control with this id. */
function Hint({ of, text }: { readonly of: string; readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p class="dim small" id={`${of}-hint`}>
      {text}
    </p>
  );
}

function describedBy(id: string, hint: string | undefined) {
  return hint === undefined ? {} : { 'aria-describedby': `${id}-hint` };
}

interface FormProps {
  readonly onSubmit: () => Promise<unknown>;
  readonly children: ComponentChildren;
}

/** A form whose data stays on the page: its submission is a call, never a request of the browser. */
export function Form({ onSubmit, children }: FormProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void onSubmit();
      }}
    >
      {children}
    </form>
  );
}

interface FoldedFormProps extends FormProps {
  /** On what unfolds it. */
  readonly title: string;
  /** On its button. */
  readonly submit: string;
  readonly class?: string;
  readonly action: Action;
}

/** A form that a press unfolds. */
export function FoldedForm({ title, submit, class: kind, action, onSubmit, children }: FoldedFormProps) {
  return (
    <details class="disclosure">
      <summary>{title}</summary>
      <Form onSubmit={onSubmit}>
        {children}
        <Refused refusal={action.refusal} />
        <div class="actions">
          <button type="submit" class={kind} aria-disabled={action.isBusy}>
            {submit}
          </button>
        </div>
      </Form>
    </details>
  );
}
