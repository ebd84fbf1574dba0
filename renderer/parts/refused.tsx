/** A refusal in its place, in the broker's sentences: what happened and what to do, which rule. */
import { sanitizeSentence } from '../base/untrusted-text.ts';
import { Icon } from './icon.tsx';
import { strings } from '../base/strings.ts';
import type { Refusal } from '../base/views.ts';
import { formatRelative } from '../base/format.ts';

export function Refused({ refusal }: { readonly refusal: Refusal | undefined }) {
  if (refusal === undefined) return null;
  const { message, hint, rule, retryAfter } = refusal;
  return (
    <div class="notice bad refused" role="alert">
      <Icon name="warn" />
      <div>
        <p>{sanitizeSentence(message)}</p>
        {hint !== undefined && <p>{sanitizeSentence(hint)}</p>}
        {retryAfter !== undefined && <p>{strings.retryIn({ time: formatRelative(retryAfter, 0) })}</p>}
        {rule !== undefined && (
          <p class="dim small">
            {strings.rule}: {sanitizeSentence(rule)}
          </p>
        )}
      </div>
    </div>
  );
}
