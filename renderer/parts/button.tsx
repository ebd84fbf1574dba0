/** A button that doesn't submit a form. */
interface ButtonProps {
  readonly text: string;
  readonly onPress: () => unknown;
  /** How much it matters: `primary`, `danger`, `quiet`. */
  readonly class?: string;
  /** For screen readers, if the text doesn't say what it is about. */
  readonly label?: string | undefined;
  readonly isBusy?: boolean;
}

export function Button({ text, onPress, class: kind, label, isBusy }: ButtonProps) {
  return (
    <button
      type="button"
      class={kind}
      aria-label={label}
      aria-disabled={isBusy}
      onClick={() => void onPress()}
    >
      {text}
    </button>
  );
}
