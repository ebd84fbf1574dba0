/** One row of the audit trail in words. Times in the log are milliseconds. */
import { kindWords } from './activity-filter.tsx';
import { Address, Foreign } from './foreign.tsx';
import { Scopes } from './scopes.tsx';
import { strings } from './strings.ts';
import type { AuditRow } from './views.ts';
import { When } from './when.tsx';
import { number } from './words.ts';

const words = strings.activity;

/** What goes without saying. */
const plainOutcome = 'ok';

export function AuditEntry({ row }: { readonly row: AuditRow }) {
  const { event, outcome, client, endpoint, issuer, scope = [], count = 1, time } = row;
  return (
    <div class="entry">
      <p class="entry-head">
        <strong>{kindWords(event)}</strong>
        {outcome !== undefined && outcome !== plainOutcome && <Outcome outcome={outcome} />}
        {count > 1 && <span class="dim">{words.times(number(count))}</span>}
        <span class="entry-time dim">
          <When at={Math.floor(time / 1000)} />
        </span>
      </p>
      <p class="entry-what">
        {client !== undefined && <Foreign text={client} />}
        {client !== undefined && endpoint !== undefined && <span class="dim"> → </span>}
        {endpoint !== undefined && <Address url={endpoint} />}
        {issuer !== undefined && (
          <span class="dim">
            {' '}
            {words.issuer} <Address url={issuer} />
          </span>
        )}
      </p>
      {scope.length > 0 && <Scopes names={scope} />}
    </div>
  );
}

/** In words where it is a word of ours; a reason stands as scripts know it. */
function Outcome({ outcome }: { readonly outcome: string }) {
  const known = Object.hasOwn(words.outcomes, outcome) ? words.outcomes[outcome] : undefined;
  if (known !== undefined) return <span>{known}</span>;
  return (
    <code>
      <Foreign text={outcome} />
    </code>
  );
}
