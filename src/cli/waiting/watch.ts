/**
 * Tells the user at the terminal what a waiting request waits for: a sign-in or a permission.
 *
 * Invariant: goes to stderr, names the issuer's host beside its URL, and shows only what belongs to the request at
 * hand: its server's sign-in, and its own permission. A device code is shown only where that sign-in was started.
 */
import type { Connection } from '../../client/connection.ts';
import { quoted, shellOption, shellWord } from '../../base/errors.ts';
import { appCapability } from '../../ipc/wire/capabilities.ts';
import { endpointOf } from '../../oauth/base/resource.ts';
import { parseScope } from '../../oauth/base/scope.ts';
import { hasBrowser } from '../broker/desktop-session.ts';
import { choiceOptions, choiceQuestion, otherAccounts } from '../words/account-note.ts';
import { say } from '../terminal/output.ts';

/** A sign-in that the user starts here, on purpose. */
export interface OwnLogin {
  /** Ids of the questions that were open before: another request's, which this terminal is not about. */
  readonly earlier: ReadonlySet<string>;
  /** Of these, the sign-in that this one waits along with. */
  readonly joined?: string | undefined;
  /** Called with the id of the sign-in's page once it was shown; absent where the browser is here. */
  readonly onPage?: ((id: string) => void) | undefined;
}

/** What this terminal asks for. */
export interface TerminalRequest {
  readonly resource: string;
  /** As it was asked for; absent where no scopes were named, or a server's answer may name some. */
  readonly scope?: string | undefined;
}

type WatchedConnection = Pick<Connection, 'capabilities' | 'request' | 'onNotification'>;

/** Shows each question about what was asked for once, until the connection ends. */
export async function watchQuestions(
  connection: WatchedConnection,
  asked: TerminalRequest,
  own?: OwnLogin,
): Promise<void> {
  const { resource } = asked;
  const shown = new Set<string>(own?.earlier);
  const told = new Set<string>();
  const said = new Set<string>();
  const byTerminal = new Map<string, Promise<boolean>>();
  const isOpened = async (question: Fields): Promise<boolean> => {
    if (own === undefined || typeof question['browserError'] !== 'string') return false;
    const id = text(question, 'id');
    const opening = byTerminal.get(id) ?? openByTerminal(text(question, 'startUrl'));
    byTerminal.set(id, opening);
    return opening;
  };
  // Each once: any web page can send an answer without state.
  const tellNews = async (question: Fields): Promise<void> => {
    const lines = newsOf((await isOpened(question)) ? { ...question, browserError: undefined } : question);
    for (const line of lines) {
      if (!said.has(line)) say(line);
      said.add(line);
    }
  };
  if (own?.joined !== undefined) shown.delete(own.joined);
  const origin = URL.parse(resource)?.origin;
  const look = async (): Promise<void> => {
    for (const question of await openQuestions(connection)) {
      const id = text(question, 'id');
      if (told.has(id)) await tellNews(question);
      if (shown.has(id) || URL.parse(text(question, 'resource'))?.origin !== origin) continue;
      if (question['kind'] === 'allow' && !isAbout(question, asked)) continue;
      shown.add(id);
      // One that somebody else started in the meantime.
      const isSignIn = ['signIn', 'device'].includes(text(question, 'kind'));
      if (own && isSignIn && text(question, 'url') === '') continue;
      if (id === own?.joined)
        say(`keyturn: a sign-in at ${hostIn(question)} waits already. Here is its page again.`);
      told.add(id);
      const isKeyturnApp = connection.capabilities.includes(appCapability);
      tell(question, own, isKeyturnApp);
      if (question['kind'] === 'allow' && question['app'] === 'cli' && !isKeyturnApp) {
        const signIns = fieldsIn(await connection.request('signIn.list'), 'signIns');
        for (const line of otherAccounts(question, signIns)) say(line);
      }
      await tellNews(question);
      if (question['kind'] === 'signIn') own?.onPage?.(id);
    }
  };
  connection.onNotification((method) => {
    if (method === 'request.changed') look().catch(() => undefined);
  });
  await connection.request('subscribe');
  await look();
}

/**
 * If the broker found no browser, this terminal may have one: VS Code's, in a container or over SSH, names a command that
 * opens the page where the user sits, and forwards its port. Our own address is opened, since other users of the machine
 * may read arguments.
 */
async function openByTerminal(startUrl: string): Promise<boolean> {
  const [command = ''] = (process.env['BROWSER'] ?? '').replaceAll('%s', '').split(':');
  if (command.trim() === '' || startUrl === '') return false;
  const { openBrowser } = await import('../../daemon/system/browser.ts');
  return openBrowser(startUrl, { command, env: process.env }).then(
    () => true,
    () => false,
  );
}

/**
 * True for a permission that is no wider than what this terminal asks for: an approval to another one of that server, or
 * to more scopes, would allow what nobody here wants. One that this process asked for is its own in any case.
 */
function isAbout(question: Fields, { resource, scope }: TerminalRequest): boolean {
  if (!isSameEndpoint(text(question, 'resource'), resource)) return false;
  const appProcess = question['appProcess'];
  if (scope === undefined || (isFields(appProcess) && appProcess['pid'] === process.pid)) return true;
  const wanted = new Set(parseScope(scope));
  const named = text(question, 'scope');
  return named !== '' && parseScope(named).every((one) => wanted.has(one));
}

/** A question shows the query of the URL that was asked for; permissions and sign-ins are for the endpoint. */
function isSameEndpoint(shown: string, resource: string): boolean {
  const policy = { allowInsecureLoopback: true };
  return shown !== '' && endpointOf(shown, policy) === endpointOf(resource, policy);
}

/** What a sign-in is for. */
interface SignIn {
  readonly resource: string;
  readonly account: string | undefined;
  readonly method: 'browser' | 'paste' | 'device';
}

/** Ids of what waits for the user at this moment; `joined`: the sign-in that an equal one joins. */
export async function questionsBefore(
  connection: WatchedConnection,
  signIn: SignIn,
): Promise<Pick<OwnLogin, 'earlier' | 'joined'>> {
  const open = await openQuestions(connection);
  const earlier = new Set(open.map((question) => text(question, 'id')));
  // While the app runs, nobody joins the sign-in of another command.
  if (connection.capabilities.includes(appCapability)) return { earlier };
  const joined = open.find((question) => isEqual(question, signIn));
  return { earlier, joined: joined && text(joined, 'id') };
}

function isEqual(question: Fields, { resource, account = '', method }: SignIn): boolean {
  const isBrowser = text(question, 'startUrl') !== '';
  return (
    question['kind'] === (method === 'device' ? 'device' : 'signIn') &&
    question['startedBy'] !== 'app' &&
    isSameEndpoint(text(question, 'resource'), resource) &&
    text(question, 'account') === account &&
    (method === 'device' || isBrowser === (method === 'browser'))
  );
}

/** `isKeyturnApp`: the broker is the app, whose window has the card, and opens the page after a click. */
function tell(question: Fields, own: OwnLogin | undefined, isKeyturnApp: boolean): void {
  switch (question['kind']) {
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
      return question['app'] === 'cli' ? tellAllow(question, isKeyturnApp) : undefined;
    case 'choice':
      return question['app'] === 'cli' ? tellChoice(question, isKeyturnApp) : undefined;
  }
}

function tellAccount(question: Fields, isKeyturnApp: boolean): void {
  const account = text(question, 'account');
  const who = account === '' ? 'an account that the server did not name' : quoted(account);
  say(`keyturn: ${who} signed in at ${hostIn(question)}, and another account was expected. Keep both?`);
  tellAnswer(question, isKeyturnApp);
}

const waysToSignIn = {
  elsewhere: ': open this address in any browser:',
  window: ': open the request in Keyturn’s window, or visit:',
  browser: ' in your browser. If none opened, visit:',
} as const;

/** Otherwise a mistyped name would silently become an account. */
function tellNewAccount(question: Fields): void {
  const others = accountsIn(question);
  if (others.length === 0) return;
  say(
    `keyturn: ${quoted(text(question, 'account'))} is a new account there, beside ${others.map((one) => quoted(one)).join(', ')}.`,
  );
}

function tellLogin(question: Fields, way: keyof typeof waysToSignIn): void {
  tellMove(question);
  tellNewAccount(question);
  const url = text(question, 'url');
  if (question['newClient'] === true)
    say(`keyturn: ${hostIn(question)} knows Keyturn as another client now; continue on this page.`);
  // While the app runs, only the window and the command that started the sign-in show the address.
  if (url === '')
    return say(`keyturn: to sign in at ${hostIn(question)}, open the request in Keyturn’s window.`);
  say(`keyturn: sign in at ${hostIn(question)}${waysToSignIn[way]}`);
  say(url);
  if (question['newClient'] !== true) say(`  ${wayPastError(question, way)}`);
}

/** What went wrong since the page was shown, and doesn't end the sign-in. */
function newsOf(question: Fields): string[] {
  const { stateless, browserError } = question;
  // RFC 6749 §4.1.2.1
  const error = typeof stateless !== 'string' || stateless === '' ? '' : `: ${quoted(stateless)}`;
  return [
    ...(typeof browserError === 'string' ? [`keyturn: ${browserError} Open the address yourself.`] : []),
    ...(typeof browserError === 'string' && !hasBrowser(process.env)
      ? [`  Without a browser on this machine: ${loginAgain(question, '--paste')}`]
      : []),
    ...(typeof stateless === 'string'
      ? [
          `keyturn: an answer came without \`state\`${error}. Keyturn can’t take it, and waits for another one.`,
        ]
      : []),
  ];
}

/** A server that has forgotten Keyturn shows the error on its page only: Keyturn can't know of it. */
function wayPastError(question: Fields, way: keyof typeof waysToSignIn): string {
  const paste = way === 'elsewhere' ? ['--paste'] : [];
  if (question['replacedByHand'] === true)
    return `If the page shows an error, enter the client again: ${loginAgain(question, '--client-id ID', ...paste)}`;
  if (way === 'window') return 'If the page shows an error, say so in Keyturn’s window.';
  return `If the page shows an error: ${loginAgain(question, '--new-client', ...paste)}`;
}

function loginAgain(question: Fields, ...options: readonly string[]): string {
  const account = text(question, 'account');
  const as = account === '' ? [] : [shellOption('account', account)];
  return ['keyturn login', shellWord(text(question, 'resource')), ...as, ...options].join(' ');
}

function tellDevice(question: Fields): void {
  tellMove(question);
  tellNewAccount(question);
  const code = text(question, 'code');
  say(`keyturn: sign in at ${hostIn(question)}: on any device, open this address and enter ${code}`);
  say(text(question, 'url'));
}

function tellAllow(question: Fields, isKeyturnApp: boolean): void {
  const resource = text(question, 'resource');
  const scope = text(question, 'scope');
  const account = text(question, 'account');
  // Where the app has an account there already, this one may be at another authorization server.
  const at = accountsIn(question).length > 0 ? ` at ${text(question, 'issuer')}` : '';
  const as = account === '' ? '' : ` as ${quoted(account)}${at}`;
  say(
    isFields(question['apiKey'])
      ? `keyturn: may the command line, and so any program you run, have your API key for ${resource}?`
      : `keyturn: may \`keyturn token\`, and so any program you run, reach ${resource}${as}${scope ? ` with ${scope}` : ''}?`,
  );
  tellAnswer(question, isKeyturnApp);
}

function tellChoice(question: Fields, isKeyturnApp: boolean): void {
  const accounts = accountsIn(question);
  const client = '`keyturn token`';
  say(`keyturn: ${choiceQuestion({ client, resource: text(question, 'resource'), accounts })}`);
  const [first = '', ...others] = choiceOptions(accounts);
  tellAnswer(question, isKeyturnApp, first, others.length > 0 ? 'another one, or deny' : undefined);
}

function tellAnswer(question: Fields, isKeyturnApp: boolean, option = '', others = 'deny'): void {
  say(
    isKeyturnApp
      ? '  Answer in Keyturn’s window.'
      : `  Answer in another terminal: keyturn request approve ${shellWord(text(question, 'id'))}${option}   (or ${others})`,
  );
}

function accountsIn(question: Fields): string[] {
  const accounts = question['accounts'];
  return Array.isArray(accounts) ? accounts.filter((one) => typeof one === 'string') : [];
}

/** The server names another issuer than it did: the user must know whom to trust with a password. */
function tellMove(question: Fields): void {
  const former = text(question, 'formerIssuer');
  if (former === '') return;
  say(`keyturn: the server used to sign in at ${former}, and now names ${text(question, 'issuer')}.`);
}

function hostIn(question: Fields): string {
  const issuer = text(question, 'issuer');
  return URL.parse(issuer)?.host ?? issuer;
}

type Fields = Readonly<Record<string, unknown>>;

function text(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

/** The broker is proven; its answer is still read with care, without a schema library in the lean path. */
async function openQuestions(connection: WatchedConnection): Promise<Fields[]> {
  return fieldsIn(await connection.request('request.list'), 'requests');
}

function fieldsIn(answer: unknown, name: string): Fields[] {
  const list = isFields(answer) ? answer[name] : undefined;
  return Array.isArray(list) ? list.filter(isFields) : [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
