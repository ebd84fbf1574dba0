/**
 * Dispatch: a table of names and files.
 *
 * Invariant: only the command that was asked for is loaded; all of them where something is said of all.
 */
import { didYouMean } from '../base/near-name.ts';
import { exitCodes, KeyturnError, quoted, reasonOf } from '../base/errors.ts';
import type { Command } from './terminal/command.ts';
import { refuse } from './terminal/output.ts';
import type { Statement } from './terminal/statement.ts';

export { guardOutput } from './terminal/output.ts';

/** In the order of `keyturn --help`. */
const commands: Readonly<Record<string, () => Promise<{ command: Command }>>> = {
  token: () => import('./commands/token.ts'),
  setup: () => import('./commands/setup.ts'),
  bridge: () => import('./commands/bridge.ts'),
  headers: () => import('./commands/headers.ts'),
  exec: () => import('./commands/exec.ts'),
  login: () => import('./commands/login.ts'),
  list: () => import('./commands/list.ts'),
  explain: () => import('./commands/explain.ts'),
  revoke: () => import('./commands/revoke.ts'),
  allow: () => import('./commands/allow.ts'),
  deny: () => import('./commands/deny.ts'),
  end: () => import('./commands/end.ts'),
  clients: () => import('./commands/clients.ts'),
  unpair: () => import('./commands/unpair.ts'),
  pending: () => import('./commands/pending.ts'),
  answer: () => import('./commands/answer.ts'),
  proxy: () => import('./commands/proxy.ts'),
  forward: () => import('./commands/forward.ts'),
  key: () => import('./commands/key.ts'),
  register: () => import('./commands/register.ts'),
  override: () => import('./commands/override.ts'),
  'client-metadata': () => import('./commands/client-metadata.ts'),
  audit: () => import('./commands/audit.ts'),
  pause: () => import('./commands/pause.ts'),
  resume: () => import('./commands/resume.ts'),
  lock: () => import('./commands/lock.ts'),
  unlock: () => import('./commands/unlock.ts'),
  passphrase: () => import('./commands/passphrase.ts'),
  status: () => import('./commands/status.ts'),
  doctor: () => import('./commands/doctor.ts'),
  settings: () => import('./commands/settings.ts'),
  daemon: () => import('./commands/daemon.ts'),
  service: () => import('./commands/service.ts'),
  serve: () => import('./commands/serve.ts'),
  reset: () => import('./commands/reset.ts'),
  completion: () => import('./commands/completion.ts'),
};

export async function main(name: string | undefined, args: string[]): Promise<number> {
  try {
    return await dispatch(name, args);
  } catch (error) {
    const exitCode = refuse(error);
    if (reasonOf(error) === 'not_permitted') await offerIfClosed(error);
    return exitCode;
  }
}

async function offerIfClosed(error: unknown): Promise<void> {
  const { isClosedDesk, offerDesk } = await import('./open-desk.ts');
  if (isClosedDesk(error)) await offerDesk(process.env);
}

async function dispatch(name: string | undefined, args: string[]): Promise<number> {
  if (name === '-h' || name === '--help' || name === 'help') return showHelp(args[0]);
  if (name === '-V' || name === '--version') {
    const { version } = await import('../daemon/system/version.ts');
    process.stdout.write(`keyturn ${version}\n`);
    return exitCodes.ok;
  }
  if (name === undefined) {
    process.stderr.write(await overview());
    return exitCodes.usage;
  }
  // For completion scripts only.
  if (name === '__complete') {
    await (await import('./broker/known-values.ts')).printKnownValues(args[0]);
    return exitCodes.ok;
  }
  const command = await load(name);
  // What follows `--` is another command's.
  const own = args.slice(0, args.includes('--') ? args.indexOf('--') : args.length);
  if (own.includes('--help') || own.includes('-h')) return showHelp(name);
  return command.run(args, statements);
}

async function showHelp(name: string | undefined): Promise<number> {
  const { helpOf } = await import('./terminal/help.ts');
  process.stdout.write(name === undefined ? await overview() : helpOf((await load(name)).statement));
  return exitCodes.ok;
}

async function load(name: string): Promise<Command> {
  const loader = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (loader) return (await loader()).command;
  throw new KeyturnError('invalid_request', `There is no command ${quoted(name)}.`, {
    hint: `${didYouMean(name, Object.keys(commands))}All commands: keyturn --help`,
  });
}

export async function statements(): Promise<readonly Statement[]> {
  const loaded = await Promise.all(Object.values(commands).map(async (loader) => loader()));
  return loaded.map(({ command }) => command.statement);
}

async function overview(): Promise<string> {
  const { overviewLines } = await import('./terminal/help.ts');
  return `Usage: keyturn COMMAND [ARGUMENT]...
The token broker on your desk: signs in once per protected server, and hands
short-lived access tokens to the programs you allowed.

${overviewLines(await statements())}

  -h, --help     show this; keyturn COMMAND --help shows more
  -V, --version  show the version

RESOURCE is the endpoint URL of a protected server, as you know it.

Quick start:
  keyturn allow cli https://notes.example/mcp
  keyturn token https://notes.example/mcp
`;
}
