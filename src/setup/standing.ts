/**
 * Which entries of clients start Keyturn's bridge already, or would if it were still there.
 *
 * Invariant: it only reads, and a file that can't be read counts as one without entries.
 */
import { isSwitch, survey, type SurveyOptions } from './survey.ts';

type Place = Pick<SurveyOptions, 'home' | 'project' | 'own'>;

export interface StandingEntry {
  /** The path of its file. */
  readonly file: string;
  readonly entry: string;
  readonly endpoint?: string | undefined;
  readonly as?: string | undefined;
  /** What it starts, where that is another Keyturn. */
  readonly other?: string | undefined;
  /** What it starts, where that isn't there any more. */
  readonly gone?: string | undefined;
  /** The options of `keyturn setup` that let it start this one; undefined where that leaves it. */
  readonly mending?: readonly string[] | undefined;
}

export async function standingEntries(place: Place): Promise<readonly StandingEntry[]> {
  const files = await survey({ ...place, withVersioned: false });
  return files.flatMap(({ findings, left, config: { file } }) =>
    findings.flatMap((finding): StandingEntry[] => {
      const { entry, gone } = finding;
      if (finding.kind === 'bridge') return [{ ...finding, file }];
      if (gone === undefined) return [];
      // A file with entries is left only if it is under version control.
      const options = left === undefined ? [] : ['--project'];
      return [{ file, entry, gone, mending: isSwitch(finding) ? options : undefined }];
    }),
  );
}

/** The paths of the files with an entry for this name and server. */
export async function filesConfiguringBridge(
  { name, resource }: { readonly name: string; readonly resource: string },
  place: Place,
): Promise<readonly string[]> {
  const entries = await standingEntries(place);
  return entries
    .filter(({ as, endpoint, other }) => as === name && endpoint === resource && other === undefined)
    .map(({ file }) => file);
}
