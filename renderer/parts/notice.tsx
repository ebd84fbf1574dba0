/** A few lines set off: something to know, to look after, or that went wrong. Its picture and words say which. */
import type { ComponentChildren } from 'preact';
import { formatRelative } from '../base/format.ts';
import { strings } from '../base/strings.ts';
import { sanitizeSentence } from '../base/untrusted-text.ts';
import type { Refusal } from '../base/views.ts';
import { Icon, type IconName } from './icon.tsx';

interface NoticeProps {
  readonly kind: 'info' | 'warn' | 'bad';
  readonly icon?: IconName;
  readonly children: ComponentChildren;
}

export function Notice({ kind, icon = 'warn', children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`}>
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  );
}

/** A refusal in its place, in the broker’s sentences: what happened and what to do, which rule. */
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
