/** Which rows of the audit log are shown: by server, app and kind. */
import { Choice } from '../../parts/field.tsx';
import { sanitizeLabel } from '../../base/untrusted-text.ts';
import { strings } from '../../base/strings.ts';
import type { AuditRow } from '../../base/views.ts';

const words = strings.activity;

/** Empty: all. */
export interface RowFilter {
  readonly kind: string;
  readonly server: string;
  readonly app: string;
}

export const noFilter: RowFilter = { kind: '', server: '', app: '' };

/** A filter as an item of the activity's address. */
export function filterItem(of: Partial<RowFilter>): string {
  return new URLSearchParams(Object.entries(of).filter(([, value]) => value !== '')).toString();
}

/** The filter of such an item; anything else in it counts for nothing. */
export function filterOf(item = ''): RowFilter {
  const given = new URLSearchParams(item);
  const { kind, server, app } = noFilter;
  return {
    kind: given.get('kind') ?? kind,
    server: given.get('server') ?? server,
    app: given.get('app') ?? app,
  };
}

/** What the rows name: each value once. */
export type Choices = Readonly<Record<keyof RowFilter, readonly string[]>>;

/** The server of a row: its endpoint, or the issuer where there is no endpoint. */
const serverOf = ({ endpoint, issuer }: AuditRow): string => endpoint ?? issuer ?? '';

export const kindWords = (event: string): string =>
  (Object.hasOwn(words.kinds, event) ? words.kinds[event] : undefined) ?? sanitizeLabel(event);

export function choicesOf(rows: readonly AuditRow[]): Choices {
  return {
    kind: distinct(rows.map(({ event }) => event)),
    server: distinct(rows.map(serverOf)),
    app: distinct(rows.map(({ app = '' }) => app)),
  };
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].filter((value) => value !== '').toSorted();
}

export function isShown(row: AuditRow, { kind, server, app }: RowFilter): boolean {
  const fits = (wanted: string, value: string): boolean => wanted === '' || wanted === value;
  return fits(kind, row.event) && fits(server, serverOf(row)) && fits(app, row.app ?? '');
}

interface ActivityFilterProps {
  readonly choices: Choices;
  readonly filter: RowFilter;
  readonly onFilter: (filter: RowFilter) => void;
}

const filters = [
  ['kind', kindWords],
  ['server', short],
  ['app', short],
] as const;

export function ActivityFilter({ choices, filter, onFilter }: ActivityFilterProps) {
  return (
    <div class="filters" role="group" aria-label={words.filters}>
      {filters.map(([name, labelOf]) => {
        // What is filtered by is offered also where no row names it.
        const values = [...new Set(['', ...choices[name], filter[name]])];
        return (
          <Choice
            key={name}
            label={words[name]}
            // By number: the values are untrusted text, which no attribute may hold as it is.
            value={String(Math.max(0, values.indexOf(filter[name])))}
            options={values.map((value, at) => ({
              value: String(at),
              label: value === '' ? words.all : labelOf(value),
            }))}
            onChoose={(at) => onFilter({ ...filter, [name]: values[Number(at)] ?? '' })}
          />
        );
      })}
    </div>
  );
}

function short(value: string): string {
  return sanitizeLabel(value, 60);
}
