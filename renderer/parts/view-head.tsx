/** The head of a view: its name, a line about it, and what can be begun there. */
import type { ComponentChildren } from 'preact';

interface ViewHeadProps {
  readonly title: string;
  readonly lead?: string;
  readonly children?: ComponentChildren;
}

export function ViewHead({ title, lead, children }: ViewHeadProps) {
  return (
    <div class="view-head">
      <div>
        <h2>{title}</h2>
        {lead !== undefined && <p class="dim">{lead}</p>}
      </div>
      {children}
    </div>
  );
}
