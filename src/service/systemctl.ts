/**
 * What `systemctl` says of the units of this user.
 *
 * Invariant: a machine without systemd, and a systemd that doesn't answer, are different refusals.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { KeyturnError, quoted } from '../base/errors.ts';
import { systemCode } from '../base/system-error.ts';

const run = promisify(execFile);

/** What `systemctl --user` prints. Throws `invalid_request` with its complaint: `NoSystemd` where there is no systemd. */
export async function systemctl(
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  try {
    return (await run('systemctl', ['--user', ...words], { encoding: 'utf8', env })).stdout;
  } catch (error) {
    throw refusal(words, error);
  }
}

/** A word such as `enabled` or `inactive`. Throws as `systemctl` where there is none. */
export async function unitState(question: 'is-enabled' | 'is-active', unit: string): Promise<string> {
  try {
    return (await run('systemctl', ['--user', question, unit], { encoding: 'utf8' })).stdout.trim();
  } catch (error) {
    // These questions end with a failure for some of the words.
    const word = printedBy(error, 'stdout');
    if (word !== '') return word;
    // Before systemd 253 this question has no word for a unit that isn't there.
    const isMissing = /^Failed to get unit file state .*: No such file or directory$/;
    if (isMissing.test(printedBy(error, 'stderr'))) return 'not-found';
    throw refusal([question, unit], error);
  }
}

const hint =
  'A service needs systemd, and a session that it started for you. ' +
  'For a user who does not log in: `sudo loginctl enable-linger USER`, then `export XDG_RUNTIME_DIR=/run/user/$(id -u)`. ' +
  'Without systemd, `keyturn broker run` runs the broker in a terminal.';

/** No systemd runs units of this user on this machine. */
export class NoSystemd extends KeyturnError {
  constructor(why: string, cause: unknown) {
    super('invalid_request', `No systemd runs services for you here: ${why}.`, { hint, cause });
  }
}

/**
 * What systemctl says where systemd isn't there, or runs nothing for this user: no bus of systemd's, or a session's bus that
 * nobody owns systemd's name on. Any other complaint leaves that open.
 */
const absent = [
  /Failed to connect to .*bus.*: (?:No medium found|\$DBUS_\w+ and \$XDG_\w+ not defined|No such file or directory|Host is down|Connection refused)/,
  /Process org\.freedesktop\.systemd1 exited with status|The name org\.freedesktop\.systemd1 was not provided/,
];

function refusal(words: readonly string[], error: unknown): KeyturnError {
  const said = printedBy(error, 'stderr');
  if (systemCode(error) === 'ENOENT') return new NoSystemd('there is no systemctl', error);
  if (absent.some((complaint) => complaint.test(said)))
    return new NoSystemd(`systemctl says ${quoted(said)}`, error);
  const why = said === '' ? systemCode(error) : quoted(said);
  return new KeyturnError('invalid_request', `systemd refused ${quoted(words.join(' '))}: ${why}.`, {
    hint,
    cause: error,
  });
}

/** What a failed command printed, trimmed; empty if nothing. */
function printedBy(error: unknown, stream: 'stdout' | 'stderr'): string {
  const text: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, stream) : undefined;
  return typeof text === 'string' ? text.trim() : '';
}
