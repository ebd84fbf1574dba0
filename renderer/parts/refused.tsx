/**
 * A refusal in its place: what happened and what to do, which rule. The broker's sentences are English: an English window
 * shows them, for they say the most. A window in another language says it in words of its own, by reason and case, and
 * keeps the English sentences folded, for whoever has to report them.
 */
import { sanitizeLabel, sanitizeSentence } from '../base/untrusted-text.ts';
import { Icon } from './icon.tsx';
import { ruleName, translatedRefusal } from '../base/refusal-words.ts';
import { language, strings } from '../base/strings.ts';
import type { Refusal } from '../base/views.ts';
import { formatRelative } from '../base/format.ts';

export function Refused({ refusal }: { readonly refusal: Refusal | undefined }) {
  if (refusal === undefined) return null;
  const { retryAfter } = refusal;
  return (
    <div class="notice bad refused" role="alert">
      <Icon name="warn" />
      <div>
        {language === 'en' ? <InEnglish refusal={refusal} /> : <Translated refusal={refusal} />}
        {retryAfter !== undefined && <p>{strings.retryIn({ time: formatRelative(retryAfter, 0) })}</p>}
        <Rule rule={language === 'en' ? refusal.rule : ruleName(refusal.rule)} />
      </div>
    </div>
  );
}

function InEnglish({ refusal: { message, hint } }: { readonly refusal: Refusal }) {
  return (
    <>
      <p>{sanitizeSentence(message)}</p>
      {hint !== undefined && <p>{sanitizeSentence(hint)}</p>}
    </>
  );
}

const names = strings.refusalFacts;

function Translated({ refusal }: { readonly refusal: Refusal }) {
  const { message, hint, facts = {} } = refusal;
  return (
    <>
      <p>{translatedRefusal(refusal)}</p>
      {(['expected', 'signedIn', 'file', 'said'] as const).map((name) => {
        const text = facts[name];
        if (text === undefined) return null;
        return (
          <p key={name}>
            {names[name]} {name === 'said' ? sanitizeSentence(text) : sanitizeLabel(text)}
          </p>
        );
      })}
      <details class="disclosure small">
        <summary>{strings.technicalMessage}</summary>
        <p lang="en">{sanitizeSentence(message)}</p>
        {hint !== undefined && <p lang="en">{sanitizeSentence(hint)}</p>}
      </details>
    </>
  );
}

function Rule({ rule }: { readonly rule: string | undefined }) {
  if (rule === undefined) return null;
  return (
    <p class="dim small">
      {strings.rule}: {sanitizeSentence(rule)}
    </p>
  );
}
