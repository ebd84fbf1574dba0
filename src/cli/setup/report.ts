/**
 * What `keyturn setup` says: entries and files, as lines and as JSON.
 *
 * Invariants: no line holds a secret: of a key its header is named, and nothing else. Where a reason ends with a command,
 * nothing of a file comes behind it.
 */
import type { AppliedChange } from '../../setup/apply.ts';
import type { Finding, Switch } from '../../setup/plan.ts';
import { type SurveyedConfig, switchesIn } from '../../setup/survey.ts';

export function surveyLines(files: readonly SurveyedConfig[]): readonly string[] {
  return files.flatMap(({ config, findings, left }) => [
    `${config.file} (${config.title}, ${config.level})`,
    ...(left === undefined ? [] : [`  left: ${left}`]),
    ...findings.flatMap((finding) => {
      const head = `  ${finding.entry}: `;
      const gone = finding.gone === undefined ? '' : `; the program that it starts is gone: ${finding.gone}`;
      if (finding.kind === 'bridge')
        return [`${head}starts the bridge${finding.other === undefined ? '' : ` of ${finding.other}`}`];
      if (finding.kind === 'left')
        return [`${head}left${exposedWords(finding.exposed)}${gone}: ${finding.why}`];
      const exposed = exposedWords(exposedOf(finding));
      const change = left === undefined ? finding.shown.map((line) => `    ${line}`) : [];
      const condition = change.length === 0 ? [] : finding.key ? [keyCondition] : unasked(finding);
      return [`${head}${finding.endpoint}, as ${finding.as}${exposed}${gone}`, ...condition, ...change];
    }),
  ]);
}

/** The broker asks the server when it takes the key. */
const keyCondition = '    stays as it is if the broker can’t check the key at this server';

const unasked = ({ isServerUnasked }: Switch): readonly string[] =>
  isServerUnasked ? ['    not asked yet: this server may need no sign-in'] : [];

const exposedWords = (names: readonly string[]): string =>
  names.length === 0 ? '' : `; a secret is in plain text (${names.join(', ')})`;

export function surveyJson(files: readonly SurveyedConfig[]): unknown {
  return files.map((file) => ({
    file: file.config.file,
    client: file.config.client,
    scope: file.config.level,
    ...(file.left === undefined ? {} : { left: file.left }),
    entries: file.findings.map((finding) => {
      const { entry, kind, gone } = finding;
      if (finding.kind === 'bridge') return { entry, kind, other: finding.other };
      if (finding.kind === 'left') return { entry, kind, why: finding.why, exposed: finding.exposed, gone };
      const { endpoint, as } = finding;
      return { entry, kind, endpoint, as, exposed: exposedOf(finding), gone };
    }),
  }));
}

/** True where something is left to do: an entry to switch, or a secret in plain text, also in a file that stays. */
export function hasWork(files: readonly SurveyedConfig[]): boolean {
  return files.some(
    (file) => switchesIn(file).length > 0 || file.findings.some((finding) => exposedOf(finding).length > 0),
  );
}

/** True where setup leaves a secret in plain text: in an entry that stays, or a file. */
export function hasExposed(files: readonly SurveyedConfig[]): boolean {
  return files.some(({ findings, left }) =>
    findings.some(
      (finding) => (left !== undefined || finding.kind === 'left') && exposedOf(finding).length > 0,
    ),
  );
}

function exposedOf(finding: Finding): readonly string[] {
  if (finding.kind === 'left') return finding.exposed;
  return finding.kind === 'switch' && finding.key ? [finding.key.header] : [];
}

export function appliedLines(results: readonly AppliedChange[]): readonly string[] {
  return results.flatMap(({ file, entry, outcome, as, endpoint, why, secret, exposed }) => {
    const line =
      outcome === 'left' ? `left ${entry} in ${file}: ${why}` : `switched ${entry} in ${file}, as ${as}`;
    if (exposed === undefined || secret === undefined) return [line];
    const where =
      secret === 'vault'
        ? 'is in the vault now'
        : 'is in the sealed backup only: the server offers a sign-in';
    return [
      line,
      `  the secret of ${exposed} for ${endpoint} ${where}. It was in plain text: make a new one at the server`,
    ];
  });
}
