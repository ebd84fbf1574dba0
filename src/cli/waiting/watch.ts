/**
 * Tells the user at the terminal what a waiting request waits for: a sign-in or a permission.
 *
 * Invariant: goes to stderr, names the issuer's host beside its URL, and shows only what belongs to the request at
 * hand: its server's sign-in, and its own permission. A device code is shown only where that sign-in was started.
 */
import type { Connection } from '../../client/connection.ts';
import { quoted, shellOption, shellWord } from '../../base/errors.ts';
import { appCapability } from '../../ipc/wire/capabilities.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { endpointOf } from '../../oauth/base/resource.ts';
import { parseScope } from '../../oauth/base/scope.ts';
import { hasBrowser } from '../../base/system/display.ts';
import { choiceOptions, choiceQuestion, otherAccounts } from '../words/account-note.ts';
import type { Question } from '../words/request-lines.ts';
import { say } from '../terminal/output.ts';

/** A sign-in that the user starts here, on purpose. */
export interface OwnLogin {
  /** Ids of the questions that were open before: another request's, unless this sign-in joined it. */
  readonly earlier: ReadonlySet<string>;
  /** Called with the id of the sign-in's page once it was shown; absent where the browser is here. */
  readonly onPage?: ((id: string) => void) | undefined;
}

/** What this terminal asks for. */
export interface TerminalRequest {
  readonly resource: string;
  /** As it was asked for; absent where no scopes were named, or a server's answer may name some. */
  readonly scope?: string | undefined;
  readonly account?: string | undefined;
}

type WatchedConnection = Pick<Connection, 'capabilities' | 'request' | 'onNotification'>;

/** Shows each question about what was asked for once, until the connection ends. */
export async function watchQuestions(
  connection: WatchedConnection,
  asked: TerminalRequest,
  own?: OwnLogin,
): Promise<void> {
  const { resource } = asked;
  const shown = new Set<string>();
  const told = new Set<string>();
  const said = new Set<string>();
  const byTerminal = new Map<string, Promise<boolean>>();
  const isOpened = async ({ id, browserError, startUrl }: Question): Promise<boolean> => {
    if (own === undefined || browserError === undefined) return false;
    const opening = byTerminal.get(id) ?? openByTerminal(startUrl);
    byTerminal.set(id, opening);
    return opening;
  };
  // Each once: any web page can send an answer without state.
  const tellNews = async (question: Question): Promise<void> => {
    const isShown = await isOpened(question);
    const lines = newsOf(isShown ? { ...question, browserError: undefined } : question, own);
    for (const line of lines) {
      if (!said.has(line)) say(line);
      said.add(line);
    }
  };
  const origin = URL.parse(resource)?.origin;
  const look = async (): Promise<void> => {
    for (const question of await openQuestions(connection)) {
      const { id, kind, app } = question;
      const isSignIn = kind === 'signIn' || kind === 'device';
      const isEarlier = own?.earlier.has(id) === true;
      if (told.has(id)) await tellNews(question);
      if (shown.has(id) || URL.parse(question.resource ?? '')?.origin !== origin) continue;
      if (kind === 'allow' && !isAbout(question, asked)) continue;
      if (own && (isSignIn ? !question.own : isEarlier)) continue;
      shown.add(id);
      if (!own && isSignIn && !(await isNeeded(connection, question, asked))) {
        shown.delete(id);
        continue;
      }
      if (isEarlier) say(`keyturn: a sign-in at ${hostIn(question)} waits already. Here is its page again.`);
      told.add(id);
      const isKeyturnApp = connection.capabilities.includes(appCapability);
      tell(question, own, isKeyturnApp);
      if (kind === 'allow' && app === 'cli' && !isKeyturnApp) {
        const { signIns } = (await connection.request('signIn.list')) as ResultOf<'signIn.list'>;
        for (const line of otherAccounts(question, signIns)) say(line);
      }
      await tellNews(question);
      if (kind === 'signIn') own?.onPage?.(id);
    }
  };
  connection.onNotification((method) => {
    if (method === 'request.changed') look().catch(() => undefined);
  });
  await connection.request('subscribe');
  await look();
}

/** False for a sign-in of another account, or one that you started where a sign-in serves the request. */
async function isNeeded(
  connection: WatchedConnection,
  question: Question,
  { resource, account }: TerminalRequest,
): Promise<boolean> {
  if (account !== undefined && question.account !== undefined && question.account !== account) return false;
  if (question.startedBy === 'app') return true;
  const { signIns } = (await connection.request('signIn.list')) as ResultOf<'signIn.list'>;
  return !signIns.some(
    (one) =>
      one.state === 'active' &&
      isSameEndpoint(one.endpoint, resource) &&
      (account === undefined || one.account === account),
  );
}

/**
 * If the broker found no browser, this terminal may have one: VS Code's, in a container or over SSH, names a command
 * that opens the page where the user sits, and forwards its port. Our own address is opened, since other users of the
 * machine may read arguments.
 */
async function openByTerminal(startUrl = ''): Promise<boolean> {
  const [command = ''] = (process.env['BROWSER'] ?? '').replaceAll('%s', '').split(':');
  if (command.trim() === '' || startUrl === '') return false;
  const { openBrowser } = await import('../../daemon/system/browser.ts');
  return openBrowser(startUrl, { command, env: process.env }).then(
    () => true,
    () => false,
  );
}

/**
 * True for a permission that is no wider than what this terminal asks for: an approval to another one of that server,
 * or to more scopes, would allow what nobody here wants. One that this process asked for is its own in any case.
 */
function isAbout(question: Question, { resource, scope }: TerminalRequest): boolean {
  if (!isSameEndpoint(question.resource, resource)) return false;
  if (scope === undefined || question.appProcess?.pid === process.pid) return true;
  const wanted = new Set(parseScope(scope));
  return question.scope !== undefined && parseScope(question.scope).every((one) => wanted.has(one));
}

/** A question shows the query of the URL that was asked for; permissions and sign-ins are for the endpoint. */
function isSameEndpoint(shown: string | undefined, resource: string): boolean {
  const policy = { allowInsecureLoopback: true };
  return shown !== undefined && endpointOf(shown, policy) === endpointOf(resource, policy);
}

/** Ids of what waits for the user at this moment. */
export async function questionsBefore(connection: WatchedConnection): Promise<ReadonlySet<string>> {
  return new Set((await openQuestions(connection)).map(({ id }) => id));
}

/** `isKeyturnApp`: the broker is the app, whose window has the card, and opens the page after a click. */
function tell(question: Question, own: OwnLogin | undefined, isKeyturnApp: boolean): void {
  switch (question.kind) {
    case 'signIn':
      return tellLogin(question, own?.onPage ? 'elsewhere' : isKeyturnApp ? 'window' : 'browser');
    case 'device':
      if (own) return tellDevice(question);
      // Its code is shown only where that sign-in was started.
      return say(
        `keyturn: waiting for the sign-in at ${hostIn(question)} on another device: keyturn request list`,
      );
    case 'account':
      return tellAccount(question, isKeyturnApp);
    case 'allow':
      return question.app === 'cli' ? tellAllow(question, isKeyturnApp) : undefined;
    case 'choice':
      return question.app === 'cli' ? tellChoice(question, isKeyturnApp) : undefined;
  }
}

function tellAccount(question: Question, isKeyturnApp: boolean): void {
  const { account } = question;
  const who = account ? quoted(account) : 'an account that the server did not name';
  say(`keyturn: ${who} signed in at ${hostIn(question)}, and another account was expected. Keep both?`);
  tellAnswer(question, isKeyturnApp);
}

const waysToSignIn = {
  elsewhere: ': open this address in any browser:',
  window: ': open the request in Keyturn’s window, or visit:',
  browser: ' in your browser. If none opened, visit:',
} as const;

function tellSpecial(question: Question): void {
  tellMove(question);
  tellNewAccount(question);
  if (question.scope !== undefined)
    say(`keyturn: this sign-in also asks for ${question.scope}, because an app waits for it.`);
}

/** Otherwise a mistyped name would silently become an account. */
function tellNewAccount({ account = '', accounts: others = [] }: Question): void {
  if (others.length === 0) return;
  say(
    `keyturn: ${quoted(account)} is a new account there, beside ${others.map((one) => quoted(one)).join(', ')}.`,
  );
}

function tellLogin(question: Question, way: keyof typeof waysToSignIn): void {
  tellSpecial(question);
  const { url, newClient } = question;
  if (newClient)
    say(`keyturn: ${hostIn(question)} knows Keyturn as another client now; continue on this page.`);
  // While the Keyturn app runs, only the window and the command that started the sign-in show the address.
  if (url === undefined)
    return say(`keyturn: to sign in at ${hostIn(question)}, open the request in Keyturn’s window.`);
  say(`keyturn: sign in at ${hostIn(question)}${waysToSignIn[way]}`);
  say(url);
  if (!newClient) say(`  ${wayPastError(question, way)}`);
}

/** What went wrong since the page was shown, and doesn't end the sign-in. */
function newsOf(question: Question, own: OwnLogin | undefined): string[] {
  const { stateless, browserError } = question;
  // What waits for a token takes any sign-in there.
  const place = own ? '' : ', in another terminal (this command goes on then)';
  // RFC 6749 §4.1.2.1
  const error = stateless ? `: ${quoted(stateless)}` : '';
  return [
    ...(browserError !== undefined ? [`keyturn: ${browserError} Open the address yourself.`] : []),
    ...(browserError !== undefined && !hasBrowser(process.env)
      ? [`  Without a browser on this machine${place}: ${loginAgain(question, '--paste')}`]
      : []),
    ...(stateless !== undefined
      ? [
          `keyturn: an answer came without \`state\`${error}. Keyturn can’t take it, and waits for another one.`,
        ]
      : []),
  ];
}

/** A server that has forgotten Keyturn shows the error on its page only: Keyturn can't know of it. */
function wayPastError(question: Question, way: keyof typeof waysToSignIn): string {
  const paste = way === 'elsewhere' ? ['--paste'] : [];
  if (question.replacedByHand)
    return `If the page shows an error, enter the client again: ${loginAgain(question, '--client-id ID', ...paste)}`;
  if (way === 'window') return 'If the page shows an error, say so in Keyturn’s window.';
  return `If the page shows an error: ${loginAgain(question, '--new-client', ...paste)}`;
}

function loginAgain({ account, resource = '' }: Question, ...options: readonly string[]): string {
  const as = account ? [shellOption('account', account)] : [];
  return ['keyturn login', shellWord(resource), ...as, ...options].join(' ');
}

function tellDevice(question: Question): void {
  tellSpecial(question);
  const { code, url } = question;
  // As for a page: while the Keyturn app runs, only its window shows them.
  if (url === undefined)
    return say(`keyturn: to sign in at ${hostIn(question)}, open the request in Keyturn’s window.`);
  say(`keyturn: sign in at ${hostIn(question)}: on any device, open this address and enter ${code}`);
  say(url);
}

function tellAllow(question: Question, isKeyturnApp: boolean): void {
  const { resource, scope, account, accounts = [], issuer } = question;
  // Where the app has an account there already, this one may be at another authorization server.
  const at = accounts.length > 0 ? ` at ${issuer}` : '';
  const as = account ? ` as ${quoted(account)}${at}` : '';
  say(
    question.apiKey
      ? `keyturn: may the command line, and so any program you run, have your API key for ${resource}?`
      : `keyturn: may \`keyturn token\`, and so any program you run, reach ${resource}${as}${scope ? ` with ${scope}` : ''}?`,
  );
  tellAnswer(question, isKeyturnApp);
}

function tellChoice(question: Question, isKeyturnApp: boolean): void {
  const { resource = '', accounts = [] } = question;
  say(`keyturn: ${choiceQuestion({ app: '`keyturn token`', resource, accounts })}`);
  const [first = '', ...others] = choiceOptions(accounts);
  tellAnswer(question, isKeyturnApp, first, others.length > 0 ? 'another one, or deny' : undefined);
}

function tellAnswer(question: Question, isKeyturnApp: boolean, option = '', others = 'deny'): void {
  say(
    isKeyturnApp
      ? '  Answer in Keyturn’s window.'
      : `  Answer in another terminal: keyturn request approve ${shellWord(question.id)}${option}   (or ${others})`,
  );
}

/** The server names another issuer than it did: the user must know whom to trust with a password. */
function tellMove({ formerIssuer, issuer }: Question): void {
  if (formerIssuer === undefined) return;
  say(`keyturn: the server used to sign in at ${formerIssuer}, and now names ${issuer}.`);
}

function hostIn({ issuer = '' }: Question): string {
  return URL.parse(issuer)?.host ?? issuer;
}

/** The broker is proven. No schema library in the lean path. */
async function openQuestions(connection: WatchedConnection): Promise<readonly Question[]> {
  return ((await connection.request('request.list')) as ResultOf<'request.list'>).requests;
}
