/**
 * How a test acts as a user's program, without further privileges. Root reads everybody's memory, so a test that runs as
 * root gives its privileges up first, for the attacker and the attacked.
 */
import { spawnSync } from 'node:child_process';

const isRoot = process.getuid?.() === 0;

/** Words before a command that take its privileges away; none where there are none. */
export const withoutPrivileges: readonly string[] = isRoot
  ? ['setpriv', '--bounding-set', '-all', '--inh-caps', '-all']
  : [];

/** The same, and whatever it does would leave a core file. */
export const dumpingCore: readonly string[] = isRoot
  ? ['prlimit', '--core=unlimited:unlimited', ...withoutPrivileges]
  : [];

/** What another program of the same user reads of a file; undefined where the kernel refuses. */
export const readAsNeighbour = (file: string): Buffer | undefined => asNeighbour('head', '-c', '4096', file);

/** Where a link leads, as another program of the same user sees it; undefined where the kernel refuses. */
export const linkAsNeighbour = (file: string): string | undefined =>
  asNeighbour('readlink', file)?.toString().trim();

function asNeighbour(...words: [string, ...string[]]): Buffer | undefined {
  const [command, ...args] = [...withoutPrivileges, ...words];
  const { status, stdout } = spawnSync(command ?? '', args);
  return status === 0 ? stdout : undefined;
}
