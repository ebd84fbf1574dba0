/** The box that narrows a list, with the number of what is left. */
import { useId } from 'preact/hooks';
import { Icon } from '../parts/icon.tsx';

interface FilterFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  /** In words. */
  readonly count: string;
}

export function FilterField({ label, value, onInput, count }: FilterFieldProps) {
  const id = useId();
  return (
    <div class="filter">
      <Icon name="search" />
      <label class="visually-hidden" for={id}>
        {label}
      </label>
      <input
        id={id}
        type="search"
        placeholder={label}
        value={value}
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <p class="dim small" role="status">
        {count}
      </p>
    </div>
  );
}
