/**
 * `keyturn connect`: pairs an entry, allows it and signs in, before its client starts it.
 *
 * Invariant: a user answers, at this terminal where the broker asks nobody by itself, else in Keyturn's window. One
 * answer at this terminal is for all entries of a server and account. One who was refused before is asked again: a user started this.
 */
import { renameSync } from 'node:fs';
import path from 'node:path';
import { KeyturnError, quoted, reasonOf, shellWord } from '../../base/errors.ts';
import { freePath } from '../../base/private/private-folder.ts';
import { connect as connectAsApp, locate } from '../../client/connect.ts';
import type { Connection } from '../../client/connection.ts';
import { appKeyFile, readAppKeyFile } from '../../client/app-key-file.ts';
import { forwardedSocket } from '../../ipc/wire/forwarded.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { appCapability } from '../../ipc/wire/capabilities.ts';
import type { TokenGetParams } from '../../ipc/wire/token-messages.ts';
import { endpointOf, exactEndpoint } from '../../oauth/base/resource.ts';
import { connect, interruptible } from '../broker/connection.ts';
import { call } from '../broker/request.ts';
import { watchQuestions } from '../waiting/watch.ts';
import { choiceOptions, choiceQuestion, liveSignIns } from '../words/account-note.ts';
import { keyNamed } from '../broker/named-sign-in.ts';
import { apiKeyPlaceWords } from '../words/api-key-rows.ts';
import { say } from '../terminal/output.ts';
import { isAtTerminal } from '../terminal/standard-input.ts';
import { forwardedName, kinds } from './asked.ts';
import { type Entry, late } from './entry.ts';
import { forgetRefusal, forgetTicket, isPaired, pairEntry, rememberRefusal } from './pairing.ts';
import { type Asked, isDenied, Prompts, type Together } from './prompts.ts';

/** Milliseconds: as long as a card stays; where nobody sees the question, as long as a bridge waits. */
const waitTime = (isSeen: boolean): number => (isSeen ? 600_000 : 20_000);

/** `together`: with the other entries of its server and account. Throws what a request for a token throws. */
export async function connectEntry(
  entry: Entry,
  together: Together = { names: [entry.name], answers: [] },
): Promise<void> {
  const { name } = entry;
  // A broker slows down who was refused.
  if (isDenied(together) && !isPaired(name)) throw rememberRefusal(entry);
  forgetRefusal(name);
  if (forwardedSocket(process.env)) return connectForwarded(entry);
  const owner = await connect();
  return interruptible(owner, async () => connectBeside(owner, entry, together));
}

/** `owner`: shows what waits for an answer. */
async function connectBeside(owner: Connection, entry: Entry, together: Together): Promise<void> {
  const { name, resource } = entry;
  const isSeen = isAtTerminal() || owner.capabilities.includes(appCapability);
  const done = new AbortController();
  try {
    // The answer to a question that is over: the user begins again. A script comes back for it.
    const open = await openQuestions(owner);
    if (isSeen && !open.some(({ kind, app }) => kind === 'pair' && app === name)) forgetTicket(name);
    // Before anybody is asked: what the broker would refuse afterwards.
    const status = await call(owner, 'status', {});
    endpointOf(resource, { allowInsecureLoopback: status.insecureLoopback });
    await moveForgottenAppKey(owner, name, status);
    const told = tellQuestions(owner, entry, { together, signal: done.signal });
    await untilAllowed(entry, told.code, isSeen).catch(async (error: unknown) => {
      if (reasonOf(error) !== 'login_required') throw error;
      // One that you ended, or that ended at the server: you start this command, so you sign in again.
      const { account } = entry;
      await call(owner, 'signIn.start', { resource, account, method: 'browser' });
      await untilAllowed(entry, told.code, isSeen);
    });
    if (process.stderr.isTTY) say(`keyturn: ${name} may reach ${resource}${told.offer()}.`);
  } finally {
    done.abort();
  }
}

/**
 * A broker that doesn't know a key pairs its app again, under another one. The old key stays beside it. Where the
 * broker can't read its list of apps, or another process pairs this one, nothing is moved.
 */
async function moveForgottenAppKey(owner: Connection, name: string, { unreadable }: Status): Promise<void> {
  if (!isPaired(name) || unreadable.some(({ file }) => path.basename(file) === 'document.json')) return;
  const file = appKeyFile(locate().paths, name);
  const { appId } = readAppKeyFile(file);
  const { apps } = await call(owner, 'app.list', {});
  if (apps.some((known) => known.appId === appId)) return;
  const kept = freePath(`${file}.old`);
  renameSync(file, kept);
  say(`keyturn: the broker does not know the app key of ${name}, which is now ${kept}; it is paired again.`);
}

/** Where the broker is elsewhere, its owner's questions are too: this terminal shows the code of a pairing only. */
async function connectForwarded(entry: Entry): Promise<void> {
  const { name, resource } = entry;
  await untilAllowed(entry, (code) => sayCode(name, code), isAtTerminal());
  if (process.stderr.isTTY) say(`keyturn: ${name} may reach ${resource}.`);
}

/**
 * `keyturn token` at the far end of a forward, where no owner is: an app like any other, paired once. Without a user to
 * ask, nothing is asked. Throws what `pair` and `connect` throw.
 */
export async function connectForwardedToken({ resource, interaction }: TokenGetParams): Promise<Connection> {
  if (interaction !== 'never' && !isPaired(forwardedName)) {
    forgetRefusal(forwardedName);
    const over = AbortSignal.timeout(waitTime(true));
    await pairEntry({ name: forwardedName, resource }, (code) => sayCode(forwardedName, code), over);
  }
  if (!isPaired(forwardedName))
    throw new KeyturnError('unpaired', 'keyturn token is not paired with the broker of this forward.', {
      hint: 'Run it once without --no-input: the first request pairs it.',
    });
  return connectAsApp({ name: forwardedName });
}

/** Pairs where that is missing, then has the broker ask for the permission and sign in. */
async function untilAllowed(entry: Entry, onCode: (code: string) => void, isSeen: boolean): Promise<void> {
  const { name, ...params } = entry;
  const end = performance.now() + waitTime(isSeen);
  const over = AbortSignal.timeout(waitTime(isSeen));
  await pairEntry(entry, onCode, over).catch((error: unknown) => {
    throw over.aborted ? unanswered(name, isSeen) : error;
  });
  const connection = await connectAsApp({ name });
  try {
    // Without `getToken`: that one would look for the next broker where this one ends. As a bridge asks: they share it.
    const ask = async (timeout: number): Promise<unknown> =>
      connection.request('token.get', { ...params, kinds, interaction: 'allow', detached: true, timeout });
    // Without a terminal this command ends before its request does, which is then the broker's to keep.
    if (!isAtTerminal())
      await ask(0).catch((error: unknown) => {
        if (!late.includes(reasonOf(error))) throw error;
      });
    // The broker knows best what the request still waits for, and says it.
    await ask(Math.ceil(Math.max(0, end - performance.now()) / 1000));
  } catch (error) {
    // A server that wants no token wants no sign-in either.
    if (reasonOf(error) !== 'authorization_not_required') throw error;
  } finally {
    connection.close();
  }
}

/** Shows what the user has to compare. */
function sayCode(name: string, code: string): void {
  say(`keyturn: ${quoted(name)} asks to be paired. Its code is ${code}.`);
  say('  Answer on the machine where the broker runs, if it shows the same code.');
}

type Status = ResultOf<'status'>;

type Question = ResultOf<'request.list'>['requests'][number];

const openQuestions = async (owner: Connection): Promise<readonly Question[]> =>
  (await call(owner, 'request.list', {})).requests;

/**
 * Shows the questions of this entry as they open, until `signal` aborts. `code` is to be called with the code of a
 * pairing; `offer` says what the last permission gave.
 */
function tellQuestions(
  owner: Connection,
  { name, resource, account }: Entry,
  { together, signal }: { readonly together: Together; readonly signal: AbortSignal },
): { readonly code: (code: string) => void; readonly offer: () => string } {
  const isKeyturnApp = owner.capabilities.includes(appCapability);
  const endpoint = exactEndpoint(resource, { allowInsecureLoopback: true });
  const codes = new Set<string>();
  const shown = new Set<string>();
  const prompts = new Prompts(together, signal);
  let offer = '';
  const isOurs = ({ kind, code = '', app, resource: about }: Question): boolean =>
    kind === 'pair'
      ? codes.has(code)
      : (kind === 'allow' || kind === 'choice') &&
        app === name &&
        (about === endpoint || about === endpointOf(resource, { allowInsecureLoopback: true }));
  const look = async (): Promise<void> => {
    const questions = await openQuestions(owner);
    prompts.keep(questions.map(({ id }) => id));
    for (const question of questions) {
      if (shown.has(question.id) || !isOurs(question)) continue;
      shown.add(question.id);
      const { id } = question;
      if (question.kind === 'allow') offer = offerWords(question);
      // An approval to a choice names an account.
      if (isKeyturnApp || !isAtTerminal() || question.kind === 'choice')
        tell(question, wordsOf(question, { name, resource }), isKeyturnApp);
      else
        prompts.ask(
          id,
          await togetherWords(owner, question, { name, names: together.names, resource, account }),
          (answer) => {
            // Also of those that come later: the first one may fail, and no other is asked then.
            if (answer === 'approve') together.names.forEach(forgetRefusal);
            void call(owner, 'request.answer', { id, answer }).catch(() => undefined);
          },
        );
    }
  };
  const again = (): void => void look().catch(() => undefined);
  owner.onNotification((method) => {
    if (method === 'request.changed') again();
  });
  // It subscribes, and shows the sign-in.
  watchQuestions(owner, { resource, account }).then(again, () => undefined);
  return {
    code(code) {
      codes.add(code);
      again();
    },
    offer: () => offer,
  };
}

function wordsOf(question: Question, { name, resource }: Entry): string {
  const { kind, code, apiKey: key, accounts = [] } = question;
  if (kind === 'choice') {
    const named = { app: quoted(name), resource: quoted(resource) };
    return `keyturn: ${choiceQuestion({ ...named, accounts })}`;
  }
  const what =
    kind === 'pair'
      ? `${quoted(name)} asks to be paired. Its code is ${code}.`
      : key
        ? `may ${quoted(name)} have your API key for ${quoted(resource)} (${apiKeyPlaceWords(key)})?`
        : `may ${quoted(name)} reach ${quoted(resource)}${offerWords(question)}?`;
  return `keyturn: ${what}`;
}

/**
 * The pairing has no code: this terminal shows both sides of it. It includes the access unless that may be to one of
 * several accounts, which only the next question names.
 */
async function togetherWords(
  owner: Connection,
  question: Question,
  { name, names, resource, account }: Entry & Pick<Together, 'names'>,
): Promise<Asked> {
  const isPairing = question.kind === 'pair';
  const { account: named = account, scope } = question;
  const endpoint = exactEndpoint(resource, { allowInsecureLoopback: true });
  const key = isPairing
    ? keyNamed(resource, (await call(owner, 'apiKey.list', {})).apiKeys)
    : question.apiKey;
  const accounts = key || account !== undefined ? [] : await accountsAt(owner, endpoint);
  const gives = key ? 'apiKey' : isPairing && accounts.length > 1 ? 'nothing' : 'token';
  const what = key
    ? `have your API key for ${quoted(resource)} (${apiKeyPlaceWords(key)})`
    : `reach ${quoted(resource)}${offerWords({ account: named, scope })}`;
  const all = [...(isPairing ? ['be paired'] : []), ...(gives === 'nothing' ? [] : [what])].join(', and ');
  const others = isPairing ? [] : accounts.filter((one) => one !== named).map(quoted);
  const note = others.length === 0 ? '' : ` Your other accounts there: ${others.join(', ')} (--account).`;
  const decided = await decidedNames(owner, endpoint, key !== undefined);
  const open = names.filter((each) => each === name || !decided.has(each));
  return {
    words: `keyturn: may ${open.map(quoted).join(', ')} ${all}?${note}`,
    isPairing,
    gives,
    account: named,
    scope,
  };
}

/** The apps that have a permission there, or a denial: an earlier run may have ended between two entries. */
async function decidedNames(
  owner: Connection,
  endpoint: string,
  ofKey: boolean,
): Promise<ReadonlySet<string>> {
  const places = [endpoint, endpointOf(endpoint, { allowInsecureLoopback: true })];
  const { apps } = await call(owner, 'app.list', {});
  const decided = apps.filter(({ permissions }) =>
    permissions.some(({ resource, apiKey = false }) => places.includes(resource) && apiKey === ofKey),
  );
  return new Set(decided.map(({ name }) => name));
}

async function accountsAt(owner: Connection, endpoint: string): Promise<string[]> {
  const { signIns } = await call(owner, 'signIn.list', {});
  return [...new Set(liveSignIns(signIns, endpoint).map(({ account = '' }) => account))];
}

/** What an approval gives, as far as it is known by now. */
const offerWords = ({ account, scope }: Pick<Question, 'account' | 'scope'>): string =>
  (account === undefined ? '' : ` as ${quoted(account)}`) + (scope === undefined ? '' : ` with ${scope}`);

function tell({ id, kind, accounts = [] }: Question, words: string, isKeyturnApp: boolean): void {
  say(words);
  const [option = ''] = kind === 'choice' ? choiceOptions(accounts) : [];
  say(
    isKeyturnApp
      ? `  ${kind === 'pair' ? 'Compare the code, and answer' : 'Answer'} in Keyturn’s window.`
      : `  Answer in another terminal: keyturn request approve ${shellWord(id)}${option}   (or deny)`,
  );
}

function unanswered(name: string, isSeen: boolean): KeyturnError {
  const time = isSeen ? 'ten minutes' : '20 seconds';
  return new KeyturnError('consent_pending', `Nobody has answered for ${quoted(name)} within ${time}.`, {
    hint: isSeen
      ? 'Run the command again when you are at the machine.'
      : 'Answer what `keyturn request list` shows where the broker runs, and run the command again.',
  });
}
