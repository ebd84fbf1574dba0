/** One row of the audit log in words. Times in the log are milliseconds. */
import { kindWords } from './activity-filter.tsx';
import { Address, UntrustedText } from '../../parts/untrusted-text.tsx';
import { strings } from '../../base/strings.ts';
import type { AuditRow } from '../../base/views.ts';
import { When } from '../../parts/when.tsx';
import { formatNumber } from '../../base/format.ts';

const words = strings.activity;

/** What goes without saying. */
const plainOutcome = 'ok';

/** Scopes of one row; the export has all. */
const maxScopes = 12;

export function AuditEntry({ row }: { readonly row: AuditRow }) {
  const { event, outcome = plainOutcome, app, endpoint, issuer, scope = [], count = 1, time } = row;
  return (
    <div class={isFailed(event, outcome) || event === 'refused' ? 'entry bad' : 'entry'}>
      <p class="entry-head">
        <strong>{eventWords(event, outcome)}</strong>
        <Outcome event={event} outcome={outcome} />
        {count > 1 && <span class="dim">{words.times({ count: formatNumber(count) })}</span>}
      </p>
      <span class="entry-time dim">
        <When at={Math.floor(time / 1000)} />
      </span>
      {(app ?? endpoint ?? issuer) !== undefined && (
        <p class="entry-what">
          {app !== undefined && <UntrustedText text={app} />}
          {app !== undefined && endpoint !== undefined && <span class="dim"> → </span>}
          {endpoint !== undefined && <Address url={endpoint} />}
          {issuer !== undefined && (
            <span class="dim">
              {' '}
              {words.issuer} <Address url={issuer} />
            </span>
          )}
        </p>
      )}
      {scope.length > 0 && (
        <p class="entry-scopes small">
          {scope.slice(0, maxScopes).map((name) => (
            <code key={name}>
              <UntrustedText text={name} bound={80} />
            </code>
          ))}
        </p>
      )}
    </div>
  );
}

const isFailed = (event: string, outcome: string): boolean => event === 'refresh' && outcome !== plainOutcome;

/** What happened. */
export const eventWords = (event: string, outcome: string): string =>
  isFailed(event, outcome) ? words.failedRefresh : kindWords(event);

/** In words where it is one of our words; a reason stands as scripts know it; what went well needs none. */
export function Outcome({ event, outcome }: { readonly event: string; readonly outcome: string }) {
  if (outcome === plainOutcome) return null;
  // The same word may mean something else of another event.
  const name = [`${event}: ${outcome}`, outcome].find((one) => Object.hasOwn(words.outcomes, one));
  const known = name === undefined ? undefined : words.outcomes[name];
  if (known !== undefined) return <span>{known}</span>;
  return (
    <code>
      <UntrustedText text={outcome} />
    </code>
  );
}
