/**
 * Which entries of clients start the bridge already.
 *
 * Invariant: it only reads, and a file that can't be read counts as one without entries.
 */
import type { Bridged } from './plan.ts';
import { survey, type SurveyOptions } from './survey.ts';

type Place = Pick<SurveyOptions, 'home' | 'project' | 'own'>;

/** An entry, and the path of its file. */
export interface StandingEntry extends Omit<Bridged, 'kind'> {
  readonly file: string;
}

export async function standingEntries(place: Place): Promise<readonly StandingEntry[]> {
  const files = await survey({ ...place, withVersioned: true });
  return files.flatMap(({ findings, config: { file } }) =>
    findings.flatMap((finding) => (finding.kind === 'bridge' ? [{ ...finding, file }] : [])),
  );
}

/** The paths of the files with an entry for this name and server. */
export async function filesWith(
  { name, resource }: { readonly name: string; readonly resource: string },
  place: Place,
): Promise<readonly string[]> {
  const entries = await standingEntries(place);
  return entries.filter(({ as, endpoint }) => as === name && endpoint === resource).map(({ file }) => file);
}
