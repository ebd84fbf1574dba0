/**
 * What is in the clients' files on this machine, and what would change there.
 *
 * Invariant: it only reads. A file that can't be read, or isn't of its format, is reported and left.
 */
import { KeyturnError } from '../base/errors.ts';
import { type ConfigFile, configFiles } from './clients.ts';
import { type FoundFile, isVersioned, readConfig, textOf } from './files.ts';
import type { OwnCommand } from './own-command.ts';
import { type BridgedEntry, type Finding, findingsIn, type Switch } from './plan.ts';

export interface SurveyedConfig {
  readonly config: ConfigFile;
  readonly findings: readonly Finding[];
  /** Why nothing in it is changed, whatever is there. */
  readonly left?: string;
  readonly found?: FoundFile;
  /** Of the file, without its byte order mark. */
  readonly text: string;
  readonly mark: string;
}

export interface SurveyOptions {
  readonly home: string;
  /** The folder of the project; without it only the user's own files count. */
  readonly project?: string | undefined;
  readonly own: OwnCommand;
  /** Change a project's files under version control too. */
  readonly withVersioned: boolean;
}

/** The files that are there and have anything to say of servers. */
export async function survey(options: SurveyOptions): Promise<readonly SurveyedConfig[]> {
  const surveyed: SurveyedConfig[] = [];
  for (const config of configFiles(options)) {
    const file = await surveyOf(config, options);
    if (file) surveyed.push(file);
  }
  return surveyed;
}

async function surveyOf(config: ConfigFile, options: SurveyOptions): Promise<SurveyedConfig | undefined> {
  const nothing = { config, findings: [], text: '', mark: '' };
  let found: FoundFile | undefined;
  try {
    found = await readConfig(config.file, config.level === 'project' ? options.project : undefined);
  } catch (error) {
    if (error instanceof KeyturnError) return { ...nothing, left: error.message };
    throw error;
  }
  if (!found || found.bytes.length === 0) return undefined;
  const whole = textOf(found.bytes);
  const mark = whole?.startsWith('\ufeff') ? '\ufeff' : '';
  const text = whole?.slice(mark.length);
  if (text === undefined) return { ...nothing, left: 'it is not UTF-8' };
  const findings = findingsIn(config, text, options.own);
  if (typeof findings === 'string') return { ...nothing, left: findings };
  if (findings.length === 0) return undefined;
  const isKept = config.level === 'project' && !options.withVersioned && isVersioned(found.real);
  const left = 'this file belongs to a project under version control: keyturn setup --project changes it too';
  return { config, findings, found, text, mark, ...(isKept ? { left } : {}) };
}

export const isSwitch = (finding: Finding): finding is Switch => finding.kind === 'switch';

/** An entry that starts Keyturn's bridge already, or would if that were still there. */
export interface StandingEntry extends Omit<BridgedEntry, 'kind' | 'keyPath'> {
  /** The path of its file. */
  readonly file: string;
  /** The options of `keyturn setup` that let it start this one; undefined where that leaves it. */
  readonly fixOptions?: readonly string[] | undefined;
}

/** A file that can't be read counts as one without entries. */
export async function standingEntries(
  place: Omit<SurveyOptions, 'withVersioned'>,
): Promise<readonly StandingEntry[]> {
  const files = await survey({ ...place, withVersioned: false });
  return files.flatMap(({ findings, left, config: { file } }) =>
    findings.flatMap((finding): StandingEntry[] => {
      const { entry, gone } = finding;
      if (finding.kind === 'bridge') return [{ ...finding, file }];
      if (gone === undefined) return [];
      // A file with entries is left only if it is under version control.
      const options = left === undefined ? [] : ['--project'];
      return [{ file, entry, gone, fixOptions: isSwitch(finding) ? options : undefined }];
    }),
  );
}

/** The entries that would be changed. */
export function switchesIn({ findings, left }: SurveyedConfig): readonly Switch[] {
  return left === undefined ? findings.filter(isSwitch) : [];
}
