/**
 * Dispatch of every command but `token`: a table of names and files.
 *
 * Invariant: only the command that was asked for is loaded.
 */
import { exitCodes, KeyturnError, quoted } from '../base/errors.ts';
import type { Command } from './broker/command.ts';
import { refuse } from './terminal/output.ts';

const commands: Readonly<Record<string, () => Promise<{ command: Command }>>> = {
  login: () => import('./commands/login.ts'),
  list: () => import('./commands/list.ts'),
  explain: () => import('./commands/explain.ts'),
  revoke: () => import('./commands/revoke.ts'),
  lock: () => import('./commands/lock.ts'),
  unlock: () => import('./commands/unlock.ts'),
  passphrase: () => import('./commands/passphrase.ts'),
  status: () => import('./commands/status.ts'),
  settings: () => import('./commands/settings.ts'),
  allow: () => import('./commands/allow.ts'),
  deny: () => import('./commands/deny.ts'),
  end: () => import('./commands/end.ts'),
  clients: () => import('./commands/clients.ts'),
  unpair: () => import('./commands/unpair.ts'),
  pending: () => import('./commands/pending.ts'),
  answer: () => import('./commands/answer.ts'),
  register: () => import('./commands/register.ts'),
  override: () => import('./commands/override.ts'),
  'client-metadata': () => import('./commands/client-metadata.ts'),
  audit: () => import('./commands/audit.ts'),
  daemon: () => import('./commands/daemon.ts'),
  reset: () => import('./commands/reset.ts'),
  completion: () => import('./commands/completion.ts'),
};

const usageText = `Usage: keyturn COMMAND [ARGUMENT]...
The token broker on your desk: signs in once per protected server, and hands
short-lived access tokens to the programs you allowed.

  token RESOURCE           print an access token
  login RESOURCE           sign in at a protected server
  list                     the grants: where you are signed in
  explain RESOURCE|GRANT   what became of a grant, and what happens next
  revoke RESOURCE|GRANT    end a grant, here and at its issuer
  allow CLIENT RESOURCE    let a program have tokens (the command line is "cli")
  deny CLIENT RESOURCE     refuse a program, and remember it
  end CLIENT RESOURCE      end a permission, or a denial; tells no server
  clients                  the paired programs and what they may reach
  unpair CLIENT            forget a program, its key and its permissions
  pending                  questions that wait for you
  answer ID yes|no|later   answer one
  register ISSUER          enter client information you obtained at an issuer
  override SERVER RULE on|off
                           waive one rule for one server that errs
  client-metadata URL      the client ID metadata document to host at a URL
  audit tail|verify|export
                           who got what when, and whether the log is whole
  lock                     lock the vault until you unlock it
  unlock                   open the vault
  passphrase               change the passphrase of a sealed-file vault
  status                   the broker: what runs, and with which settings
  settings                 show the settings, or change one
  daemon                   run the broker in this terminal, stop or restart it
  reset                    end this home: revoke everything, remove everything
  completion SHELL         a completion script for bash, zsh or fish

  -h, --help     show this; keyturn COMMAND --help shows more
  -V, --version  show the version

RESOURCE is the endpoint URL of a protected server, as you know it.

Quick start:
  keyturn allow cli https://notes.example/mcp
  keyturn token https://notes.example/mcp
`;

export async function main(name: string | undefined, args: string[]): Promise<number> {
  try {
    return await dispatch(name, args);
  } catch (error) {
    return refuse(error);
  }
}

async function dispatch(name: string | undefined, args: string[]): Promise<number> {
  if (name === '-h' || name === '--help' || name === 'help') return showUsage(args[0]);
  if (name === '-V' || name === '--version') {
    const { version } = await import('../daemon/system/version.ts');
    process.stdout.write(`keyturn ${version}\n`);
    return exitCodes.ok;
  }
  if (name === undefined) {
    process.stderr.write(usageText);
    return exitCodes.usage;
  }
  const { command } = await load(name);
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(command.help);
    return exitCodes.ok;
  }
  return command.run(args);
}

async function showUsage(about: string | undefined): Promise<number> {
  if (about === 'token') process.stdout.write((await import('./commands/token.ts')).help);
  else process.stdout.write(about === undefined ? usageText : (await load(about)).command.help);
  return exitCodes.ok;
}

async function load(name: string): Promise<{ command: Command }> {
  const loader = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (loader) return loader();
  const { didYouMean } = await import('../daemon/settings/near-name.ts');
  throw new KeyturnError('invalid_request', `There is no command ${quoted(name)}.`, {
    hint: `${didYouMean(name, ['token', ...Object.keys(commands)])}All commands: keyturn --help`,
  });
}
