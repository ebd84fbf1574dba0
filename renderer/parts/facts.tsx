/** Names with their values, as a description list: a line each, or side by side; and the values that many have. */
import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { strings } from '../base/strings.ts';
import type { ListedApiKey } from '../base/views.ts';
import { ScrollBox } from './scroll-box.tsx';
import { Address, OnCard, UntrustedText } from './untrusted-text.tsx';

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
  // On a card values are whole, so that one of them could push the others far away.
  const isBoxed = useContext(OnCard);
  return (
    <div {...(isWide ? { class: 'wide' } : {})}>
      <dt>{name}</dt>
      <dd>{isBoxed ? <ScrollBox label={name}>{children}</ScrollBox> : children}</dd>
    </div>
  );
}

/** Nothing without an address. */
export function AddressFact({ name, url }: { readonly name: string; readonly url: string | undefined }) {
  if (url === undefined) return null;
  return (
    <Fact name={name}>
      <Address url={url} />
    </Fact>
  );
}

/** Nothing without a text. */
export function TextFact({ name, text }: { readonly name: string; readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <Fact name={name}>
      <UntrustedText text={text} />
    </Fact>
  );
}

/** Nothing without a path. */
export function PathFact({ name, text }: { readonly name: string; readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <Fact name={name}>
      <Path text={text} />
    </Fact>
  );
}

/** Characters of a path. */
export const maxPathLength = 300;

/** On a ground that praises nothing. */
export function Path({ text }: { readonly text: string }) {
  return (
    <code class="path">
      <UntrustedText text={text} bound={maxPathLength} />
    </code>
  );
}

/** The broker's word for an account that nobody named. */
export const unnamed = 'default';

export function AccountName({ name = unnamed }: { readonly name: string | undefined }) {
  if (name !== unnamed) return <UntrustedText text={name} />;
  return <span class="dim">{strings.servers.accountDefault}</span>;
}

/** Where an API key goes: `Authorization: Bearer …`. The key itself never reaches a window. */
export function ApiKeyPlace({ of }: { readonly of: Pick<ListedApiKey, 'header' | 'scheme'> }) {
  const { header, scheme } = of;
  return (
    <code>
      <UntrustedText text={`${header}: ${scheme === undefined ? '' : `${scheme} `}…`} />
    </code>
  );
}
