/** A refusal in its place: what happened, what to do, which rule. */
import { sanitize } from '../base/untrusted-text.ts';
import { Icon } from './icon.tsx';
import { strings } from '../base/strings.ts';
import type { Refusal } from '../base/views.ts';
import { formatRelative } from '../base/format.ts';

/** Characters: a sentence of the broker's with a quotation in it is shorter. */
const maxSentenceLength = 600;

/** The broker quotes untrusted text in its sentences already. The page sanitizes them all the same. */
const sentence = (text: string): string => sanitize(text, maxSentenceLength).text;

export function Refused({ refusal }: { readonly refusal: Refusal | undefined }) {
  if (refusal === undefined) return null;
  const { message, hint, rule, retryAfter } = refusal;
  return (
    <div class="notice bad refused" role="alert">
      <Icon name="warn" />
      <div>
        <p>{sentence(message)}</p>
        {hint !== undefined && <p>{sentence(hint)}</p>}
        {retryAfter !== undefined && <p>{strings.retryIn(formatRelative(retryAfter, 0))}</p>}
        {rule !== undefined && (
          <p class="dim small">
            {strings.rule}: {sentence(rule)}
          </p>
        )}
      </div>
    </div>
  );
}
