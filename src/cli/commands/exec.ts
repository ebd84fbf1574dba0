/**
 * `keyturn exec -- COMMAND`: runs a command with tokens or API keys in its environment, or in files that it names.
 *
 * Invariant: nothing runs before every token is there and lives long enough. A token or key is in no argument and on
 * no disk; the rest of the environment is as it was.
 */
import { quoted } from '../../base/errors.ts';
import { askedBy } from '../apps/asked.ts';
import { runInPlace } from '../apps/child.ts';
import { type Credential, credentialInBackground, credentialWithin } from '../apps/credential-within.ts';
import { credentialsTogether, unattended } from '../apps/credentials-together.ts';
import { keepFresh } from '../apps/fresh-files.ts';
import { TokenFiles } from '../apps/token-files.ts';
import { resourceFrom, waitFrom, UsageError } from '../terminal/arguments.ts';
import { defineCommand } from '../terminal/command.ts';
import { say } from '../terminal/output.ts';
import type { Input, Statement } from '../terminal/statement.ts';
import {
  asOption,
  timeoutOption,
  noInputOption,
  validityOption,
  tokenOptions,
} from '../terminal/token-options.ts';

/** Seconds that a user has for an answer, as with `keyturn token`. */
const defaultTimeout = 300;

/** Seconds: an app with a token in its environment gets no newer one. A file gets one before the end. */
const defaultValidity = { env: 60, file: 1 } as const;

/** Milliseconds for a token that nobody has to answer for. */
const refreshTimeout = 60_000;

const statement = {
  name: 'exec',
  summary: 'Run a command with access tokens in its environment',
  operands: [{ name: 'COMMAND', repeatable: true }],
  launches: true,
  usage: ['exec [OPTION]... -- COMMAND [ARGUMENT]...'],
  options: {
    env: {
      type: 'string',
      value: 'NAME=URL',
      summary: 'the variable NAME holds a token or API key',
      more: '; may be repeated',
      repeatable: true,
    },
    file: {
      type: 'string',
      value: 'NAME=URL',
      summary: 'the variable NAME holds the path of a file with it',
      more: '; a token there is kept fresh; may be repeated',
      repeatable: true,
    },
    ...tokenOptions(' (one URL only)'),
    'min-validity': validityOption('a token', '1m; with --file 1s'),
    as: asOption,
    'no-input': noInputOption,
    timeout: timeoutOption('how long to wait for you', '5m'),
  },
  about:
    'Run a command with access tokens or API keys in its environment, or in files that its environment names.',
  notes: [
    'Without --as it asks as the app cli, which needs a permission once: `keyturn app allow cli URL`. The command and its own options follow --.',
    'The exit code is that of the command: 128 and the signal number if a signal ended it, 127 if there is no such command, 126 if it can’t be run. Before the command runs, it is one of those of `keyturn token`.',
    'A token in the environment is never replaced. A file is replaced before its token expires, and removed with the command. API keys come without the word before them.',
  ],
  examples: [
    'keyturn exec --env NOTES_TOKEN=https://notes.example/mcp -- notes-server --port 8080',
    'keyturn exec --file NOTES_TOKEN_FILE=https://notes.example/mcp -- notes-server',
  ],
} as const satisfies Statement;

export const command = defineCommand(statement, async ({ options, operands }) => {
  const wanted = wantedFrom(options);
  if (operands[0] === '') throw new UsageError('keyturn exec needs a COMMAND that is not empty');
  const validity = waitFrom(options['min-validity'], '--min-validity');
  const timeout = waitFrom(options.timeout, '--timeout') ?? defaultTimeout;
  const requests = wanted.map((one) => ({
    ...one,
    asked: askedBy(options, one.resource, validity ?? defaultValidity[one.kind]),
  }));
  // Before anybody is asked: a place for the files is there, or nothing is done.
  const files = wanted.some(({ kind }) => kind === 'file') ? await TokenFiles.make() : undefined;
  const given = await credentialsTogether(requests, async (asked) =>
    credentialWithin(asked, {
      within: timeout * 1000,
      again: 'run the command again',
      waits: (where) => say(`keyturn: waiting for your answer. ${where}`),
    }),
  );
  const over = new AbortController();
  const env = { ...process.env };
  for (const { kind, name, asked, credential } of given) {
    // The server wants no token: the variable stays as it was.
    if (!credential) continue;
    if (kind === 'env' || !files) {
      env[name] = bare(credential);
      continue;
    }
    env[name] = files.write(name, bare(credential));
    if ('kind' in credential) continue;
    keepFresh(
      {
        name,
        token: credential,
        ask: (minimumValidity) => credentialInBackground(unattended(asked, minimumValidity), refreshTimeout),
        replace: (fresh) => void files.write(name, bare(fresh)),
        tell: say,
      },
      over.signal,
    );
  }
  try {
    return await runInPlace(operands, env);
  } finally {
    over.abort();
    files?.remove();
  }
});

/** Without the word that is before it in its header: programs put that there themselves. */
function bare(given: Credential): string {
  if (!('kind' in given)) return given.access_token;
  const { scheme, value } = given;
  return scheme === undefined ? value : value.slice(scheme.length).trimStart();
}

interface Placement {
  readonly kind: 'env' | 'file';
  /** Of the variable. */
  readonly name: string;
  readonly resource: string;
}

function wantedFrom({
  env = [],
  file = [],
  scope,
  account,
}: Input<typeof statement>['options']): Placement[] {
  const wanted = [...env.map((text) => wantedIn('env', text)), ...file.map((text) => wantedIn('file', text))];
  if (wanted.length === 0) throw new UsageError('keyturn exec needs --env NAME=URL or --file NAME=URL');
  const names = wanted.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`${quoted(twice)} is named twice`);
  const isOne = new Set(wanted.map(({ resource }) => resource)).size === 1;
  if (!isOne && (scope !== undefined || account !== undefined))
    throw new UsageError('--scope and --account go with one URL only');
  return wanted;
}

function wantedIn(kind: Placement['kind'], text: string): Placement {
  const [, name, resource] = /^([A-Za-z_]\w*)=(.+)$/s.exec(text) ?? [];
  if (name !== undefined && resource !== undefined) return { kind, name, resource: resourceFrom(resource) };
  throw new UsageError(`--${kind} takes NAME=URL, not ${quoted(text)}`);
}
