/** `keyturn status`: the broker of this home. Starts none. */
import { exitCodes, Unreachable } from '../errors.ts';
import { homePaths } from '../paths.ts';
import { parse } from './arguments.ts';
import { call } from './command.ts';
import type { Command } from './command.ts';
import { connectIfRunning } from './connection.ts';
import { print, printJson } from './output.ts';

const help = `Usage: keyturn status [--json]
Show the broker of this home: what runs, with which settings, what is wrong.
Starts none; exits with 8 where none runs.

      --json  print it as JSON
  -h, --help  show this
`;

export const command: Command = {
  help,
  async run(args) {
    const { values } = parse(args, { json: { type: 'boolean' } }, { names: [], command: 'status' });
    const connection = await connectIfRunning();
    if (!connection) {
      throw new Unreachable('broker_unreachable', `No broker runs for the home in ${homePaths().state}.`, {
        hint: 'The next `keyturn token` or `keyturn login` starts one.',
      });
    }
    try {
      const status = await call(connection, 'status', {});
      if (values.json) printJson(status);
      else for (const line of lines(status)) print(line);
    } finally {
      connection.close();
    }
    return exitCodes.ok;
  },
};

type Status = Awaited<ReturnType<typeof call<'status'>>>;

function lines(status: Status): string[] {
  return [
    `keyturn ${status.version}, pid ${status.pid}`,
    `home       ${status.home}`,
    `vault      ${status.vault}${status.vault === 'memory' ? ' (forgets everything when the broker stops)' : ''}`,
    `browser    ${status.browser ?? "the system's own"}`,
    ...(status.insecureLoopback ? ['INSECURE   http is accepted on loopback hosts (for development)'] : []),
    `grants     ${status.grants}`,
    `programs   ${status.clients}`,
    `questions  ${status.interactions}${status.interactions > 0 ? ' (keyturn pending)' : ''}`,
    ...status.overrides.map(({ server, names }) => `OVERRIDE   ${server}: ${names.join(', ')}`),
    ...status.clocks.map(
      ({ issuer, ahead }) =>
        `CLOCK      ${issuer} is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} this machine`,
    ),
    ...status.unreadable.map((file) => `UNREADABLE ${file} (left as it is; restore it or move it away)`),
  ];
}
