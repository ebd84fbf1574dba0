/** One row of a list within a card: what it is, what is to know about it, and what can be done with it. */
import type { ComponentChildren } from 'preact';

interface ListRowProps {
  /** Its name or address, where the facts below don't say it. */
  readonly head?: ComponentChildren;
  readonly children: ComponentChildren;
  /** Its buttons, and what became of a press. */
  readonly actions: ComponentChildren;
}

export function ListRow({ head, children, actions }: ListRowProps) {
  return (
    <div class="permission">
      <div class="permission-what">
        {head !== undefined && <p class="permission-head">{head}</p>}
        {children}
      </div>
      {actions}
    </div>
  );
}
