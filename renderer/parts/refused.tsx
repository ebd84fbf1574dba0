/** A refusal in its place: what happened, what to do, which rule. */
import { fit } from '../base/foreign-text.ts';
import { Icon } from './icon.tsx';
import { strings } from '../base/strings.ts';
import type { Refusal } from '../base/views.ts';
import { fromNow } from '../base/words.ts';

/** Characters: a sentence of the broker's with a quotation in it is shorter. */
const maxSentenceLength = 600;

/** The broker's sentences hold foreign text that is quoted already; fit again, since a window trusts nobody. */
const sentence = (text: string): string => fit(text, maxSentenceLength).text;

export function Refused({ refusal }: { readonly refusal: Refusal | undefined }) {
  if (refusal === undefined) return null;
  const { message, hint, rule, retryAfter } = refusal;
  return (
    <div class="notice bad refused" role="alert">
      <Icon name="warn" />
      <div>
        <p>{sentence(message)}</p>
        {hint !== undefined && <p>{sentence(hint)}</p>}
        {retryAfter !== undefined && <p>{strings.retryIn(fromNow(retryAfter, 0))}</p>}
        {rule !== undefined && (
          <p class="dim small">
            {strings.rule}: {sentence(rule)}
          </p>
        )}
      </div>
    </div>
  );
}
