/**
 * One entry of a client's configuration: what it reaches, and what would be there in its place.
 *
 * Invariant: what isn't understood wholly is left as it is, with a reason. No secret is in a reason. A secret is moved
 * only where it is one key in one header; a reference to a variable is no secret and is not resolved, except in the
 * entry's own `env`. The file may come from a stranger: what means nothing beside a URL gets no meaning by the command
 * that is written there, and no variable is kept that changes how a program runs. Those that say how it connects stay in
 * the user's own files alone: a stranger's proxy would read the tokens.
 */
import { KeyturnError, quoted } from '../base/errors.ts';
import type { ConfigFile } from './clients.ts';
import { isAppName } from '../ipc/wire/app-name.ts';
import { exposedIn, isSecretHeader, isSecretUrl, reference } from './exposed.ts';
import { headerPattern, schemePattern, tokenPattern } from '../ipc/wire/values.ts';
import { endpointOf } from '../oauth/base/resource.ts';
import {
  envNames,
  isDecisive,
  isKept,
  pairsOf,
  resolved,
  variables,
  variablesOf,
  withoutVariables,
} from './entry-variables.ts';
import { isMadeByBridge, translated } from './mcp-remote.ts';
import { isMembers } from './formats/edit.ts';
import { type KeyturnStart, keyturnStart, type OwnCommand } from './own-command.ts';
import { changesConnections, changesPrograms } from '../base/system/program-variables.ts';

/** An entry as its file has it. */
export type Members = Readonly<Record<string, unknown>>;

/** An API key that was in plain text. */
export interface FoundApiKey {
  readonly header: string;
  readonly scheme?: string;
  readonly value: string;
}

/** `gone`: the program of a Keyturn that the entry starts, which is no longer there. */
export interface Gone {
  readonly gone?: string | undefined;
}

interface Left extends Gone {
  readonly kind: 'left';
  readonly why: string;
}

export type Reading =
  /** It starts something else, or nothing at all. */
  | { readonly kind: 'other' }
  /** It starts the bridge already. `other`: that of another Keyturn. */
  | {
      readonly kind: 'bridge';
      /** What it reaches and the name under which it pairs, where it is written as setup writes it. */
      readonly endpoint?: string;
      readonly as?: string | undefined;
      readonly account?: string | undefined;
      readonly other?: string;
    }
  /** `exposed`: names of what holds a secret in plain text. */
  | (Left & { readonly exposed: readonly string[] })
  | (Gone & {
      readonly kind: 'switch';
      readonly endpoint: string;
      /** The name under which it pairs already. */
      readonly as?: string | undefined;
      readonly account?: string | undefined;
      /** Of the bridge, behind the URL, the name and the account. */
      readonly args: readonly string[];
      readonly key?: FoundApiKey;
      /** Members that go. */
      readonly drop: readonly string[];
      /** The member in whose place the command is written. */
      readonly anchor: string;
      /** Variables of the entry that a kept header names, or that say how it connects. */
      readonly env: Readonly<Record<string, string>>;
    });

/** Members that hold a URL, as the clients call them. */
const urlNames = ['url', 'serverUrl', 'httpUrl'];
const headerNames = ['headers', 'http_headers'];

/** Who signs in there, and how: Keyturn can't take that over by itself. Codex refuses its whole file if one stays. */
const signInName =
  /^(?:oauth.*|auth|authProviderType|.*headers_?helper|bearer_token.*|env_http_headers|requestInit|scopes)$/i;

/** Members that say how a command runs. Beside a URL they mean nothing. */
const runName = /^(?:env.*|cwd|.*work.*dir.*|dev|shell|.*sandbox.*|interpreter|runtime.*)$/i;

/** A package, a command, or the package's file for Node. */
const remoteProgram = /^(?:.*[\\/])?mcp-remote(?:@[\w.^~-]+)?(?:[\\/]dist[\\/]proxy\.js)?$/;

/** What an entry is read for: the command that would be there, and whose file it is in. */
export interface EntryPlace {
  readonly own: OwnCommand;
  readonly level: ConfigFile['level'];
}

export function readEntry(entry: Members, place: EntryPlace): Reading {
  const reading = readOnly(entry, place);
  return reading.kind === 'left' ? { ...reading, exposed: exposedIn(entry) } : reading;
}

type OwnReading = Exclude<Reading, { readonly kind: 'left' }> | Left;

function readOnly(entry: Members, place: EntryPlace): OwnReading {
  const url = urlNames.find((name) => typeof entry[name] === 'string');
  const words = commandWords(entry);
  const start = keyturnStart(words, place.own);
  if (start?.behind[0] === 'bridge') return started(entry, start, place);
  const remote = words.findIndex((word) => remoteProgram.test(word));
  if (remote !== -1 && url !== undefined) return left('it has a URL and a command');
  if (remote !== -1) return readRemote(entry, words.slice(remote + 1), words.slice(0, remote), place);
  // Zed once had an object as command, and guides of servers show one as transport.
  if (words.length === 0 && ('command' in entry || 'args' in entry || isMembers(entry['transport'])))
    return left('its command or transport has an unknown form');
  if (url === undefined || words.length > 0)
    // A program in the place of the bridge is told a server's URL.
    return words.some((word) => /^https?:\/\//i.test(word)) && exposedIn({ args: words }).length > 0
      ? unknownStart
      : { kind: 'other' };
  const headerMembers = headerNames.filter((name) => name in entry);
  // opencode: `false` says that nobody signs in.
  const unknown = Object.keys(entry).find((name) => signInName.test(name) && entry[name] !== false);
  if (unknown !== undefined) return left(`its member ${quoted(unknown)} says how it signs in`);
  if (urlNames.filter((name) => name in entry).length > 1) return left('it has two URLs');
  const headers = headerMembers.flatMap((name) => pairsOf(entry[name]) ?? [undefined]);
  if (headers.some((header) => header === undefined)) return left('its headers have an unknown form');
  const known = headers.flatMap((pair) => (pair ? [{ name: pair[0], text: pair[1], value: pair[1] }] : []));
  const drop = [
    ...headerMembers,
    ...Object.keys(entry).filter((name) => runName.test(name) || signInName.test(name)),
  ];
  const reading = switched(String(entry[url]), known, [], { drop, anchor: url, env: {} });
  // A client fills it in for its own requests. The bridge would read another environment.
  const filled = known.find(({ name, text }) => reference.test(text) || reference.test(name));
  if (reading.kind !== 'switch' || !filled) return reading;
  return left('a header takes its value from a variable');
}

function started(entry: Members, { by, program, ...start }: KeyturnStart, place: EntryPlace): OwnReading {
  const behind = joined(start.behind);
  const reading = bridged(entry, behind, place);
  if (by === 'own') return reading;
  if (by === 'other') return reading.kind === 'bridge' ? { ...reading, other: program } : reading;
  const again = reading.kind === 'bridge' ? madeNew(entry, behind, place) : reading;
  return again.kind === 'left' || again.kind === 'switch' ? { ...again, gone: program } : again;
}

const account = /^--account=(?!$)/;
const isAccount = (word: string): boolean => account.test(word);
const accountIn = (words: readonly string[]): string | undefined =>
  words.findLast(isAccount)?.replace(account, '');

/** `--account WORK` as `--account=WORK`. */
const joined = (words: readonly string[]): readonly string[] =>
  words.flatMap((word, at) =>
    words[at - 1] === '--account' ? [] : word === '--account' ? `${word}=${words[at + 1] ?? ''}` : word,
  );

/** An entry whose Keyturn is gone. Its words are read as those of mcp-remote: they may be a stranger's. */
function madeNew(entry: Members, behind: readonly string[], place: EntryPlace): OwnReading {
  const at = behind.indexOf('--as');
  const as = at === -1 || !isAppName(behind[at + 1] ?? '') ? undefined : behind[at + 1];
  const words = behind.filter(
    (_, index) => index > 0 && (as === undefined || (index !== at && index !== at + 1)),
  );
  const others = words.filter((word) => !isAccount(word));
  const reading = readRemote(entry, others, [], place);
  return reading.kind === 'switch' ? { ...reading, as, account: accountIn(words) } : reading;
}

/** As setup writes it: `bridge URL --as NAME`. Other orders are left unread. */
function bridged(
  entry: Members,
  [, url, option, as, ...more]: readonly string[],
  { own, level }: EntryPlace,
): OwnReading {
  const env = variables(entry);
  if (env === undefined) return unknownEnv;
  const foreign = Object.keys(env).find(
    (name) => changesPrograms(name) && own.env[name] !== env[name] && !isKept(name, level),
  );
  if (foreign === 'KEYTURN_HOME' || foreign === 'KEYTURN_SOCKET') {
    const here = own.env[foreign];
    const change =
      here === undefined ? 'remove that variable from it' : `set that variable to ${quoted(here)}`;
    return left(
      `it gets its tokens from another broker, ${quoted(env[foreign] ?? '')} (${foreign}). To let it use this one, ${change}`,
    );
  }
  if (foreign !== undefined) return changing(foreign);
  // Setup writes none of them: with one, the same command may be another program.
  const member = Object.keys(entry).find((name) => runName.test(name) && !envNames.includes(name));
  if (member !== undefined) return left(`its member ${quoted(member)} says how it runs`);
  if (url === undefined || option !== '--as' || !isAppName(as ?? '')) return { kind: 'bridge' };
  try {
    return { kind: 'bridge', endpoint: serverUrl(url), as, account: accountIn(more) };
  } catch {
    return { kind: 'bridge' };
  }
}

const changing = (name: string): OwnReading =>
  left(`its variable ${quoted(name)} changes how a program runs or connects`);

/** The words that an entry starts, whichever way it writes them. */
export function commandWords({ command, args }: Members): readonly string[] {
  const listed = Array.isArray(command) ? command : typeof command === 'string' ? [command] : [];
  const all: unknown[] = [...listed, ...(Array.isArray(args) ? args : [])];
  return all.every((word) => typeof word === 'string') ? all : [];
}

/** Programs that only start the package which they are given. */
const runners =
  /^(?:(?:node|npx|bunx|pnpx|npm|pnpm|yarn|bun|cmd)(?:\.cmd|\.exe)?|exec|dlx|x|\/c|c:\/|-y|--yes|--)$/i;

/** A path's last part, on any system. */
const baseName = (word: string): string => word.split(/[\\/]/).at(-1) ?? '';

function readRemote(
  entry: Members,
  args: readonly string[],
  before: readonly string[],
  { level }: EntryPlace,
): OwnReading {
  // Git Bash makes "C:/" of "/c".
  if (!before.every((word) => runners.test(word) || runners.test(baseName(word)))) return unknownStart;
  const env = variables(entry);
  if (env === undefined) return unknownEnv;
  if (Object.keys(entry).some((name) => /^env.?file/i.test(name)))
    return left('its variables are in another file');
  const foreign = Object.keys(env).find((name) => isDecisive(name) && !isKept(name, level));
  if (foreign !== undefined) return changing(foreign);
  let own: readonly string[];
  try {
    own = translated(args).args;
  } catch (error) {
    return refusedBy(error);
  }
  const headers: Header[] = [];
  const kept: string[] = [];
  const urls: string[] = [];
  for (let at = 0; at < own.length; at += 1) {
    const word = own[at] ?? '';
    const value = own[at + 1] ?? '';
    if (word === '--header') {
      const [, name = '', text = ''] = /^([^:]+):\s*(.*)$/.exec(value) ?? [];
      headers.push({ name, text, value: resolved(text, env) });
      at += 1;
    } else if (word === '--header-file') return left('its headers are in another file');
    else if (/^--(?:ignore-tool|transport)$/.test(word) && /^[^-]/.test(value)) {
      kept.push(word, value);
      at += 1;
    } else if (word.startsWith('-')) return left('it has an argument that Keyturn doesn’t know');
    else urls.push(word);
  }
  const [url] = urls;
  if (url === undefined || urls.length > 1) return left('it names no server, or several');
  const changes = headers.flatMap(({ text }) => variablesOf(text)).find(changesPrograms);
  if (changes !== undefined) return changing(changes);
  const drop = Object.keys(entry).filter((name) => runName.test(name));
  return switched(url, headers, kept, { drop, anchor: 'command', env });
}

/** `text` as it is written; `value` with what the entry itself says of its variables. */
interface Header {
  readonly name: string;
  readonly text: string;
  readonly value: string;
}

type Kept = Pick<Extract<Reading, { kind: 'switch' }>, 'drop' | 'anchor' | 'env'>;

function switched(
  url: string,
  given: readonly Header[],
  more: readonly string[],
  { env, ...kept }: Kept,
): OwnReading {
  const withVariable = left('its URL has a variable in it');
  if (reference.test(url)) return withVariable;
  let endpoint: string;
  try {
    endpoint = serverUrl(url);
  } catch (error) {
    return refusedBy(error);
  }
  // A host may have been written with `%24%7B` or wide characters.
  if (reference.test(endpoint)) return withVariable;
  if (isSecretUrl(endpoint)) return left('its URL contains a secret, which belongs in a header');
  const headers = given.filter(({ name }) => !isMadeByBridge(name));
  if (headers.some(({ name }) => /^host$/i.test(name))) return left('it names another host in a header');
  const secrets = headers.filter(({ name, value }) => isSecretHeader(name, value));
  if (secrets.some(({ value }) => value.trim() === '' || reference.test(value)))
    return left('a header takes its secret from a variable');
  if (secrets.length > 1) return left('it has several secrets; Keyturn stores one for each server');
  const plain = headers.filter((header) => !secrets.includes(header));
  // A name with a leading dash would be an option of the bridge.
  if (
    plain.some(({ name, value }) => !headerPattern.test(name) || name.startsWith('-') || /[\r\n]/.test(value))
  )
    return left('its headers have an unknown form');
  const key = secrets[0] && keyOf(secrets[0]);
  if (secrets[0] && !key) return left('its secret is not an API key that Keyturn can store');
  const args = [...plain.flatMap(({ name, text }) => ['--header', `${name}: ${text}`]), ...more];
  const named = new Set(plain.flatMap(({ text }) => variablesOf(text)));
  const staying = Object.entries(env).filter(([name]) => named.has(name) || changesConnections(name));
  // Written again, a form that was escaped in the file would begin to work, and what is shown masks it.
  const written = [...args, ...staying.map(([, value]) => value)];
  if (written.some((text) => reference.test(withoutVariables(text))))
    return left('it takes a value from a variable in a form that Keyturn doesn’t know');
  const common = { ...kept, args, env: Object.fromEntries(staying) };
  return { kind: 'switch', endpoint, ...(key ? { key } : {}), ...common };
}

/** Throws `invalid_resource`. */
function serverUrl(text: string): string {
  const policy = { allowInsecureLoopback: true };
  endpointOf(text, policy);
  const { href } = new URL(text);
  // It may be longer than the text.
  endpointOf(href, policy);
  return href;
}

/** `Bearer abc`, or the key without a scheme. Undefined for another form. */
function keyOf({ name: header, value: text }: Header): FoundApiKey | undefined {
  const words = text.trim().split(/\s+/);
  const [scheme, value] = words.length === 2 ? words : [undefined, words[0]];
  const isKey =
    words.length <= 2 && value !== undefined && tokenPattern.test(value) && headerPattern.test(header);
  if (!isKey || (scheme !== undefined && !schemePattern.test(scheme))) return undefined;
  return { header, ...(scheme === undefined ? {} : { scheme }), value };
}

const unknownEnv: OwnReading = left('its env has an unknown form');

function left(why: string): OwnReading {
  return { kind: 'left', why };
}

function refusedBy(error: unknown): OwnReading {
  if (!(error instanceof KeyturnError)) throw error;
  return left(`${error.message} ${error.hint ?? ''}`.trim());
}

const unknownStart = left('it starts a command that Keyturn doesn’t know');
