/**
 * A refusal in its place: what happened, what to do, which rule. The broker's own words are English: a window in another
 * language says first what the reason means.
 */
import { sanitizeSentence } from '../base/untrusted-text.ts';
import { Icon } from './icon.tsx';
import { language, strings } from '../base/strings.ts';
import type { Refusal } from '../base/views.ts';
import { formatRelative } from '../base/format.ts';

export function Refused({ refusal }: { readonly refusal: Refusal | undefined }) {
  if (refusal === undefined) return null;
  const { reason, message, hint, rule, retryAfter } = refusal;
  const meaning = meaningOf(reason);
  return (
    <div class="notice bad refused" role="alert">
      <Icon name="warn" />
      <div>
        {meaning !== undefined && <p>{meaning}</p>}
        <p lang="en" {...(meaning === undefined ? {} : { class: 'small' })}>
          {sanitizeSentence(message)}
        </p>
        {hint !== undefined && <p lang="en">{sanitizeSentence(hint)}</p>}
        {retryAfter !== undefined && <p>{strings.retryIn({ time: formatRelative(retryAfter, 0) })}</p>}
        {rule !== undefined && (
          <p class="dim small">
            {strings.rule}: <span lang="en">{sanitizeSentence(rule)}</span>
          </p>
        )}
      </div>
    </div>
  );
}

/** Undefined in an English window, where the broker's own sentence says more, and for a reason of a newer broker. */
function meaningOf(reason: string): string | undefined {
  if (language === 'en') return undefined;
  return Object.hasOwn(strings.refusals, reason) ? strings.refusals[reason] : undefined;
}
