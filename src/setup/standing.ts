/**
 * Where an entry for the bridge stands already: the files of clients that start it under this name.
 *
 * Invariant: it only reads, and a file that can't be read counts as one without the entry.
 */
import { survey, type SurveyOptions } from './survey.ts';

/** The paths of those files. */
export async function filesWith(
  { name, resource }: { readonly name: string; readonly resource: string },
  place: Pick<SurveyOptions, 'home' | 'project' | 'own'>,
): Promise<readonly string[]> {
  const files = await survey({ ...place, withVersioned: true });
  return files
    .filter(({ findings }) =>
      findings.some(
        (finding) => finding.kind === 'bridge' && finding.as === name && finding.endpoint === resource,
      ),
    )
    .map(({ config }) => config.file);
}
