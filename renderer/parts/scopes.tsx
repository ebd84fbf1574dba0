/** Scopes in words: the server's own text, and what it means where everybody agrees on that. */
import { useContext } from 'preact/hooks';
import { UntrustedText, OnCard } from './untrusted-text.tsx';
import { strings } from '../base/strings.ts';
import { scopeMeaning } from '../base/format.ts';

/** RFC 6749 §3.3: names with spaces between them. */
export function scopeNames(scope: string | undefined): string[] {
  return [...new Set((scope ?? '').split(' ').filter((name) => name !== ''))];
}

/** Names shown of one grant in a list; more are summed up, so that one row stays a row. A card has them all. */
const maxShown = 40;

interface ScopesProps {
  readonly names: readonly string[];
  /** Those to mark as asked for the first time. */
  readonly fresh?: readonly string[];
}

export function Scopes({ names, fresh = [] }: ScopesProps) {
  const isOnCard = useContext(OnCard);
  const most = isOnCard ? names.length : maxShown;
  if (names.length === 0) return <span class="dim">{strings.servers.noScopes}</span>;
  const more = names.length - most;
  return (
    <ul class="scopes">
      {names.slice(0, most).map((name) => (
        <li key={name}>
          <Scope name={name} />
          {fresh.includes(name) && <span class="tag">{strings.card.newScope}</span>}
          {isOnCard && <span class="end" />}
        </li>
      ))}
      {more > 0 && <li class="dim">+{more}</li>}
    </ul>
  );
}

/** In words first, where there are some; the server's own name always stands with them. */
export function Scope({ name }: { readonly name: string }) {
  const meaning = scopeMeaning(name);
  return (
    <>
      {meaning !== undefined && (
        <span class="meaning" {...(meaning.isGuess ? { title: strings.scopeGuess } : {})}>
          {meaning.words}
        </span>
      )}{' '}
      <code>
        <UntrustedText text={name} bound={80} />
      </code>
    </>
  );
}
