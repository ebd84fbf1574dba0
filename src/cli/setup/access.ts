/**
 * The access of entries that start the bridge: which have none, and giving it to them.
 *
 * Invariant: an entry that the user denied isn't asked about again, unless this run switched it.
 */
import { exitCodes } from '../../base/errors.ts';
import { endpointOf, exactEndpoint } from '../../oauth/base/resource.ts';
import type { SurveyedConfig } from '../../setup/survey.ts';
import { connectIfRunning } from '../broker/connection.ts';
import { ask } from '../broker/request.ts';
import type { Together } from '../apps/prompts.ts';
import { refuse } from '../terminal/output.ts';

/** An entry that starts this bridge. */
export interface BridgeEntry {
  readonly endpoint: string;
  /** The name under which it pairs. */
  readonly as: string;
  readonly account?: string | undefined;
}

/** An entry without access. */
interface ClosedEntry extends BridgeEntry {
  /** You denied it. */
  readonly isDenied: boolean;
}

/** Of the entries that started the bridge before this run. Without `mayStart` there are none unless a broker answers. */
export async function earlierWithoutAccess(
  files: readonly SurveyedConfig[],
  mayStart: boolean,
): Promise<readonly ClosedEntry[]> {
  const entries = files
    .flatMap(({ findings, left }) => (left === undefined ? findings : []))
    .flatMap((finding) => {
      if (finding.kind !== 'bridge' || finding.other !== undefined) return [];
      const { endpoint, as, account } = finding;
      return endpoint && as ? [{ endpoint, as, account }] : [];
    });
  if (mayStart) return withoutAccess(entries);
  const running = await connectIfRunning().catch(() => undefined);
  running?.close();
  return running ? withoutAccess(entries).catch(() => []) : [];
}

export async function withoutAccess(entries: readonly BridgeEntry[]): Promise<readonly ClosedEntry[]> {
  if (entries.length === 0) return [];
  const { wasRefused } = await import('../apps/pairing.ts');
  const { apps } = await ask('app.list', {});
  const { signIns } = await ask('signIn.list', {});
  const usable = signIns.filter(({ state }) => state === 'active' || state === 'refreshing');
  return entries.flatMap(({ as, endpoint, account }) => {
    const names = namesOf(endpoint);
    const hasSignIn = usable.some(
      (signIn) => names.includes(signIn.endpoint) && signIn.account === (account ?? signIn.account),
    );
    const found = apps
      .filter(({ name }) => name === as)
      .flatMap(({ permissions }) => permissions.filter(({ resource }) => names.includes(resource)));
    const isOpen = found.some(
      ({ decision, apiKey }) => decision !== 'deny' && (apiKey !== undefined || hasSignIn),
    );
    const isDenied = wasRefused(as) || found.some(({ decision }) => decision === 'deny');
    return isOpen ? [] : [{ as, endpoint, account, isDenied }];
  });
}

/** As lists write it: permissions are for the server, keys may be for one URL. */
function namesOf(endpoint: string): readonly string[] {
  const policy = { allowInsecureLoopback: true };
  return [endpointOf(endpoint, policy), exactEndpoint(endpoint, policy)];
}

/** `open`: the entries that got no access. `code`: of the first refusal. One refusal is for all entries of its server and account. */
export async function connectAll(
  entries: readonly BridgeEntry[],
): Promise<{ readonly open: readonly BridgeEntry[]; readonly code: number }> {
  const { connectEntry } = await import('../apps/entry-connect.ts');
  const open: BridgeEntry[] = [];
  const codes: number[] = [];
  const groups = Map.groupBy(entries, ({ endpoint, account }) => JSON.stringify([endpoint, account]));
  for (const there of groups.values()) {
    const together: Together = { names: there.map(({ as }) => as), answers: [] };
    let isRefused = false;
    for (const entry of there) {
      try {
        // Your own refusal is remembered for each entry. What else failed would fail for each.
        if (!isRefused || together.answers.some(({ verdict }) => verdict === 'deny'))
          await connectEntry({ name: entry.as, resource: entry.endpoint, account: entry.account }, together);
        else open.push(entry);
      } catch (error) {
        if (!isRefused) codes.push(refuse(error));
        isRefused = true;
        open.push(entry);
      }
    }
  }
  return { open, code: codes[0] ?? exitCodes.ok };
}
