/**
 * Dispatch: a table of the first words and their files.
 *
 * Invariant: only the command that was asked for is loaded; all of them where something is said of all.
 */
import { didYouMean } from '../base/text/near-name.ts';
import { exitCodes, KeyturnError, quoted, reasonOf } from '../base/errors.ts';
import { type Command, commandIn, type Noun, type Topic, topicOf } from './terminal/command.ts';
import { refuse } from './terminal/output.ts';
import type { Statement } from './terminal/statement.ts';

export { guardOutput } from './terminal/output.ts';

type Load = () => Promise<{ readonly command: Command | Noun }>;

/** In the groups and the order of `keyturn --help`. */
const groups: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Get started': {
    setup: () => import('./commands/setup.ts'),
    connect: () => import('./commands/connect.ts'),
    login: () => import('./commands/login.ts'),
    logout: () => import('./commands/logout.ts'),
    token: () => import('./commands/token.ts'),
  },
  Access: {
    'sign-in': () => import('./commands/sign-in.ts'),
    app: () => import('./commands/app.ts'),
    request: () => import('./commands/request.ts'),
    pause: () => import('./commands/pause.ts'),
    resume: () => import('./commands/resume.ts'),
  },
  Run: {
    bridge: () => import('./commands/bridge.ts'),
    headers: () => import('./commands/headers.ts'),
    exec: () => import('./commands/exec.ts'),
    proxy: () => import('./commands/proxy.ts'),
    forward: () => import('./commands/forward.ts'),
  },
  Manage: {
    'api-key': () => import('./commands/api-key.ts'),
    'oauth-client': () => import('./commands/oauth-client.ts'),
    exception: () => import('./commands/exception.ts'),
    settings: () => import('./commands/settings.ts'),
    audit: () => import('./commands/audit.ts'),
    lock: () => import('./commands/lock.ts'),
    unlock: () => import('./commands/unlock.ts'),
    passphrase: () => import('./commands/passphrase.ts'),
  },
  Broker: {
    status: () => import('./commands/status.ts'),
    doctor: () => import('./commands/doctor.ts'),
    broker: () => import('./commands/broker.ts'),
    service: () => import('./commands/service.ts'),
    reset: () => import('./commands/reset.ts'),
  },
  Other: {
    'dev-server': () => import('./commands/dev-server.ts'),
    completion: () => import('./commands/completion.ts'),
  },
};

const loaders: Readonly<Record<string, Load>> = Object.assign({}, ...Object.values(groups)) as Record<
  string,
  Load
>;

export async function main(name: string | undefined, args: string[]): Promise<number> {
  try {
    return await dispatch(name, args);
  } catch (error) {
    const exitCode = refuse(error);
    if (reasonOf(error) === 'not_permitted')
      await (await import('./open-app.ts')).offerIfClosed(error, process.env);
    return exitCode;
  }
}

async function dispatch(name: string | undefined, args: string[]): Promise<number> {
  if (name === '-h' || name === '--help') return print(await overview());
  if (name === 'help') return print(await manual(args));
  if (name === '-V' || name === '--version') {
    const { version } = await import('../daemon/system/version.ts');
    return print(`keyturn ${version}\n`);
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
  const loaded = await load(name);
  // What follows `--` is another command's.
  const own = args.slice(0, args.includes('--') ? args.indexOf('--') : args.length);
  if (own.includes('--help') || own.includes('-h')) return print(await shortHelp(loaded, args));
  const { command, rest } = commandIn(loaded, args);
  return command.run(rest, topics);
}

function print(text: string): number {
  process.stdout.write(text);
  return exitCodes.ok;
}

/** `keyturn COMMAND --help`. */
async function shortHelp(loaded: Command | Noun, args: readonly string[]): Promise<string> {
  const { helpOf, nounHelp } = await import('./terminal/help.ts');
  const isNoun = 'noun' in loaded && (args[0] === undefined || args[0].startsWith('-'));
  return isNoun ? nounHelp(topicOf(loaded)) : helpOf(commandIn(loaded, args).command.statement);
}

/** `keyturn help [COMMAND]`: everything that is to be said of it. */
async function manual([name, ...verbs]: readonly string[]): Promise<string> {
  if (name === undefined) return overview();
  const loaded = await load(name);
  const { fullHelpOf } = await import('./terminal/help.ts');
  if ('statement' in loaded || verbs.length > 0)
    return fullHelpOf(commandIn(loaded, verbs).command.statement);
  return topicOf(loaded).statements.map(fullHelpOf).join('\n');
}

async function load(name: string): Promise<Command | Noun> {
  const loader = Object.hasOwn(loaders, name) ? loaders[name] : undefined;
  if (loader) return (await loader()).command;
  const guess = didYouMean(name, Object.keys(loaders)) || (await verbNamed(name));
  throw new KeyturnError('invalid_request', `There is no command ${quoted(name)}.`, {
    hint: `${guess}All commands: keyturn --help`,
  });
}

/** A user may forget the noun of a verb. */
async function verbNamed(name: string): Promise<string> {
  const meant = (await statements()).filter((one) => one.name.endsWith(` ${name}`));
  return meant.length === 1 ? `Did you mean ${meant[0]?.name}? ` : '';
}

export async function topics(): Promise<readonly Topic[]> {
  return Promise.all(Object.values(loaders).map(async (loader) => topicOf((await loader()).command)));
}

export async function statements(): Promise<readonly Statement[]> {
  return (await topics()).flatMap((topic) => topic.statements);
}

async function overview(): Promise<string> {
  const { overviewLines } = await import('./terminal/help.ts');
  const all = await topics();
  const listed = Object.entries(groups).map(([title, members]) => ({
    title,
    topics: all.filter(({ name }) => Object.hasOwn(members, name)),
  }));
  return `Usage: keyturn COMMAND [ARGUMENT]...
Sign in to each MCP server once. Keyturn keeps and refreshes the tokens, and gives
short-lived access tokens to the apps that you allow.

Quick start:
  keyturn setup                            switch your MCP clients over
  keyturn token https://notes.example/mcp  print a token for a script

${overviewLines(listed)}

  -h, --help     show this; after a command: its usage, options and examples
  -V, --version  show the version

keyturn help COMMAND tells everything about a command.
`;
}
