/** What became of the entries, or of the files that were put back. */
import { UntrustedText } from '../../parts/untrusted-text.tsx';
import { sanitizeLabel, sanitizeReason, sanitizeSentence } from '../../base/untrusted-text.ts';
import { strings } from '../../base/strings.ts';
import type { SetupResult, SetupUndone } from '../../base/views.ts';

const words = strings.setup;

export function Applied({ results }: { readonly results: readonly SetupResult[] }) {
  const isChanged = results.some(({ outcome }) => outcome === 'switched');
  return (
    <section class="notice info" aria-label={words.resultTitle}>
      <div>
        {isChanged && <p>{words.restart}</p>}
        <ul>
          {results.map(({ file, entry, outcome, why, secret, exposed = '' }) => (
            <li key={`${file} ${entry}`}>
              <strong>
                <UntrustedText text={entry} />
              </strong>
              {': '}
              {outcome === 'switched' ? words.switched : words.left}{' '}
              {why !== undefined && sanitizeReason(why)}
              {secret !== undefined && words.secret[secret]({ header: sanitizeLabel(exposed) })}
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

export function Undone({ of: { lines, keys } }: { readonly of: SetupUndone }) {
  return (
    <section class="notice info" aria-label={words.resultTitle}>
      <div>
        <ul>
          {lines.map((line) => (
            <li key={line}>{sanitizeSentence(line)}</li>
          ))}
          {keys.map((key) => (
            <li key={key}>{words.keyStays({ server: sanitizeLabel(key) })}</li>
          ))}
        </ul>
      </div>
    </section>
  );
}
