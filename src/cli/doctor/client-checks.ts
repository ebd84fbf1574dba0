/**
 * The entries of clients that start Keyturn, as their files have them.
 *
 * Invariant: it only reads, and starts nothing that an entry names.
 */
import { quoted } from '../../base/errors.ts';
import { type StandingEntry, standingEntries } from '../../setup/survey.ts';
import { clientsHere } from '../apps/configured-entry.ts';
import { type Finding, found, foundIf } from './finding.ts';

export async function checkClients(): Promise<Finding[]> {
  const entries = await standingEntries(clientsHere());
  const alive = entries.filter(({ gone }) => gone === undefined);
  return [
    ...entries.flatMap((entry) => (entry.gone === undefined ? [] : goneFinding(entry, entry.gone))),
    ...foundIf(
      alive.length > 0,
      'entry.found',
      `Entries of clients start Keyturn: ${alive.map(named).join(', ')}.`,
      'Nothing to do. Before you remove Keyturn: keyturn setup undo',
    ),
  ];
}

const named = ({ entry, file, other }: StandingEntry): string =>
  `${quoted(entry)} in ${file}${other === undefined ? '' : ` (by ${other})`}`;

function goneFinding(entry: StandingEntry, gone: string): Finding[] {
  const { fixOptions } = entry;
  const fix =
    fixOptions === undefined
      ? 'Change the entry by hand: keyturn setup check says why setup leaves it.'
      : ['keyturn setup', ...fixOptions].join(' ');
  return found('entry.gone', `${named(entry)} starts ${quoted(gone)}, which is not there.`, fix);
}
