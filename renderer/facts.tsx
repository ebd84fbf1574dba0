/** Names with their values, as a description list: a line each, or side by side. */
import type { ComponentChildren } from 'preact';

interface FactsProps {
  readonly children: ComponentChildren;
  /** Short values side by side, each below its name. */
  readonly isGrid?: boolean;
}

export function Facts({ children, isGrid = false }: FactsProps) {
  return <dl class={isGrid ? 'facts grid' : 'facts'}>{children}</dl>;
}

interface FactProps {
  readonly name: string;
  readonly children: ComponentChildren;
  /** A row of its own among those side by side. */
  readonly isWide?: boolean;
}

export function Fact({ name, children, isWide = false }: FactProps) {
  return (
    <div {...(isWide ? { class: 'wide' } : {})}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
