/**
 * Scopes in words: the server's own text, and what it means where everybody agrees on that; each with a box where the
 * user chooses.
 *
 * Invariant: before a decision, what changes or deletes looks riskier than what only reads, and comes first.
 */
import { useContext } from 'preact/hooks';
import { UntrustedText, OnCard } from './untrusted-text.tsx';
import { strings } from '../base/strings.ts';
import { byRisk, riskOf, scopeMeaning } from '../base/scopes.ts';

/** Names shown of one sign-in in a list; more are summed up, so that one row stays a row. A card has them all. */
const maxShown = 40;

interface ScopesProps {
  readonly names: readonly string[];
}

export function Scopes({ names }: ScopesProps) {
  const isOnCard = useContext(OnCard);
  const most = isOnCard ? names.length : maxShown;
  if (names.length === 0) return <span class="dim">{strings.servers.noScopes}</span>;
  const more = names.length - most;
  return (
    <ul class="scopes">
      {(isOnCard ? byRisk(names) : names).slice(0, most).map((name) => (
        <li key={name}>
          <Scope name={name} /> {isOnCard && <Risk name={name} />}
          {isOnCard && <span class="end" />}
        </li>
      ))}
      {more > 0 && <li class="dim">+{more}</li>}
    </ul>
  );
}

/** In words first, where there are some; the server's own name is always with them. */
function Scope({ name }: { readonly name: string }) {
  const meaning = scopeMeaning(name);
  return (
    <>
      {meaning !== undefined && <span class="meaning">{meaning.words}</span>}{' '}
      <code>
        <UntrustedText text={name} bound={80} />
      </code>
    </>
  );
}

function Risk({ name }: { readonly name: string }) {
  const risk = riskOf(name);
  if (risk === undefined) return null;
  return <span class={risk === 'changes' ? 'tag warn' : 'tag bad'}>{strings.card.risks[risk]}</span>;
}

interface ScopeChoiceProps {
  readonly names: readonly string[];
  /** Those to mark as asked for the first time. */
  readonly fresh?: readonly string[];
  readonly kept: readonly string[];
  readonly onKeep: (kept: readonly string[]) => void;
  /** Nothing is given whatever is ticked. */
  readonly isDisabled?: boolean;
}

/** The scopes, each with a box: what the user unticks, the app doesn't get. */
export function ScopeChoice({ names, fresh = [], kept, onKeep, isDisabled = false }: ScopeChoiceProps) {
  return (
    <ul class="scopes choice">
      {byRisk(names).map((name) => (
        <li key={name}>
          <label>
            <input
              type="checkbox"
              checked={kept.includes(name)}
              disabled={isDisabled}
              onChange={(event) => {
                const isOn = event.currentTarget.checked;
                onKeep(names.filter((other) => (other === name ? isOn : kept.includes(other))));
              }}
            />
            <span>
              <Scope name={name} /> <Risk name={name} />{' '}
              {fresh.includes(name) && <span class="tag">{strings.card.newScope}</span>}
              <span class="end" />
            </span>
          </label>
        </li>
      ))}
    </ul>
  );
}

/** What the descriptions are, if there are some. */
export function GuessNote({ names }: ScopesProps) {
  if (!names.some((name) => scopeMeaning(name)?.isGuess === true)) return null;
  return <p class="dim small">{strings.card.guesses}</p>;
}
