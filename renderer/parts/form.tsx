/** A form whose data stays on the page: its submission is a call, never a request of the browser. */
import type { ComponentChildren } from 'preact';

interface FormProps {
  readonly onSubmit: () => Promise<void>;
  readonly children: ComponentChildren;
}

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
