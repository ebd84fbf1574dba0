/** Approval requests as lines for a user: what each is about, and how to answer it. */
import { quoted, shellOption, shellWord } from '../../base/errors.ts';
import { hasBrowser } from '../../base/system/display.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { choiceOptions, choiceQuestion } from './account-note.ts';
import { apiKeyPlaceWords } from './api-key-rows.ts';
import { hostOf, processName, when } from '../terminal/output.ts';

export type Question = ResultOf<'request.list'>['requests'][number];

/** While the Keyturn app runs, only its window approves. `others`: the ways to give another account. */
export function requestLines(
  question: Question,
  isKeyturnApp: boolean,
  others: readonly string[] = [],
): string[] {
  const { id, app, code } = question;
  const deny = `  keyturn request deny ${shellWord(id)}`;
  const answer = isKeyturnApp
    ? ['  Answer in Keyturn’s window. To deny it from here:', deny]
    : [`  keyturn request approve ${shellWord(id)}`, deny];
  const end = `${deny}   cancels it`;
  switch (question.kind) {
    case 'allow':
      return [`${id}  ${accessQuestion(question)}`, ...askerLines(question), ...answer, ...others];
    case 'pair':
      return [
        `${id}  ${app} wants to be paired. It must show the code ${code}.`,
        ...askerLines(question),
        ...answer,
      ];
    case 'signIn':
      return [...signInLines(question), ...loginLines(question, isKeyturnApp), end];
    case 'device':
      return [...signInLines(question), end];
    case 'account':
      return [`${id}  ${accountQuestion(question)}`, ...answer];
    case 'url':
      return [...pageLines(question, isKeyturnApp), ...processLines(question), ...answer];
    case 'choice':
      return [
        `${id}  ${choiceSentence(question)}`,
        ...processLines(question),
        ...(isKeyturnApp ? answer : [...choiceAnswers(question), deny]),
      ];
    case 'settings':
      return settingsLines(question, answer);
    case 'command':
      return [
        `${id}  May a command ${commandWords(question)}?`,
        ...processLines(question),
        '  Answer in Keyturn’s window.',
        end,
      ];
  }
}

function accessQuestion(question: Question): string {
  const { app, resource, scope, apiKey } = question;
  return apiKey
    ? `May ${app} have your API key for ${resource} (${apiKeyPlaceWords(apiKey)})?`
    : `May ${app} reach ${resource}${offeredWords(question)}${scope ? ` with ${scope}` : ', with what you approve on its sign-in page'}?`;
}

const askerLines = (question: Question): string[] => [
  ...forwardLines(question.forward),
  ...processLines(question),
  ...(question.tokenType === 'DPoP' ? ['  Its tokens are bound to a DPoP key of Keyturn.'] : []),
];

const choiceAnswers = ({ id, accounts = [] }: Question): string[] =>
  choiceOptions(accounts).map((option) => `  keyturn request approve ${shellWord(id)}${option}`);

function choiceSentence({ app = '', resource = '', accounts = [] }: Question): string {
  const sentence = choiceQuestion({ app, resource, accounts });
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
}

/** While the Keyturn app runs, without the address: only the window shows it. */
function pageLines(
  { id, app, resource, server, url, message = '' }: Question,
  isKeyturnApp: boolean,
): string[] {
  return [
    `${id}  ${resource}, which ${app} uses, asks you to open a page at ${hostOf(server ?? '')}. Open it?`,
    ...(url === undefined || isKeyturnApp ? [] : [`  ${url}`]),
    ...(message === '' ? [] : [`  the server says: ${quoted(message)}`]),
  ];
}

/**
 * While the Keyturn app runs, without address and code: only the window and the command that started the sign-in show
 * them.
 */
function signInLines({ id, kind, resource, issuer, account, code, url }: Question): string[] {
  const what = `${id}  Sign in at ${issuer} for ${resource}${accountWords(account)}`;
  if (url === undefined) return [`${what}:`, '  Open it in Keyturn’s window.'];
  return [kind === 'device' ? `${what}: enter ${code} at` : `${what}:`, `  ${url}`];
}

/** A login serves an app that waits. A server that has forgotten Keyturn shows the error on its page only. */
function loginLines(question: Question, isKeyturnApp: boolean): string[] {
  const { resource, newClient, account, replacedByHand, startedBy, browserError } = question;
  if (isKeyturnApp) return [];
  const option = account === undefined ? '' : ` ${shellOption('account', account)}`;
  const login = `  keyturn login ${shellWord(resource ?? 'URL')}${option}`;
  const isElsewhere = startedBy === 'app' && (browserError !== undefined || !hasBrowser(process.env));
  const forgotten = replacedByHand
    ? `${login} --client-id ID   enters the client again, if its page shows an error`
    : `${login} --new-client   if its page shows an error`;
  return [
    ...(isElsewhere ? [`${login} --paste   without a browser on this machine`] : []),
    ...(newClient ? [] : [forgotten]),
  ];
}

const accountWords = (account: string | undefined): string =>
  account === undefined ? '' : ` as ${quoted(account)}`;

/** Whose tokens an app would get, and whose it may get there now. */
function offeredWords({ issuer, account, accounts }: Question): string {
  if (account === undefined) return '';
  const now = accounts?.length ? `; it works there as ${accounts.map(quoted).join(', ')}` : '';
  return `${accountWords(account)} at ${issuer}${now},`;
}

function accountQuestion({ resource, issuer, account, accounts = [] }: Question): string {
  const who = account === undefined ? 'An account that the server did not name' : quoted(account);
  const known = accounts.map(quoted).join(', ');
  return `${who} signed in at ${issuer} for ${resource}, where ${known} is signed in. Keep that as another account?`;
}

function settingsLines({ id, settings = [], allowed = [] }: Question, answer: readonly string[]): string[] {
  const what =
    allowed.length > 0
      ? 'This home was used without the Keyturn app. Keep what it allows? A denial removes all of it.'
      : 'Settings were changed outside Keyturn, and you have not approved them. Apply them?';
  return [
    `${id}  ${what}`,
    ...settings.map((setting) => `  ${settingWords(setting)}`),
    ...allowed.map((group) => `  ${allowedNames[group.what]}: ${group.count}`),
    ...answer,
  ];
}

const allowedNames: Readonly<Record<NonNullable<Question['allowed']>[number]['what'], string>> = {
  signIns: 'sign-ins',
  apiKeys: 'API keys',
  apps: 'apps',
  permissions: 'permissions',
  exceptions: 'exceptions',
  oauthClients: 'OAuth clients',
  proxies: 'proxies',
};

type SettingChange = NonNullable<Question['settings']>[number];

function settingWords({ name, value, isContent }: SettingChange): string {
  if (isContent) return `${name}: the file ${quoted(String(value))} has another content`;
  return value === undefined ? `${name}: unset` : `${name}: ${quoted(String(value))}`;
}

/** What a command wants to do, as the end of a sentence. */
function commandWords(question: Question): string {
  const { app, resource, scope, until, issuer, clientId, server, exception, setting } = question;
  const { account, accounts, method, newClient, forward, resources = [] } = question;
  switch (question.command) {
    case 'allow': {
      const end = until === undefined ? '' : ` until ${when(until)}`;
      if (question.apiKey) return `allow ${app} the API key for ${resource}${end}`;
      return `allow ${app} ${resource}${accountWords(account)}${scope ? ` with ${scope}` : ''}${end}`;
    }
    case 'endDenial':
      return `end what you denied ${app} at ${resource}${question.apiKey ? ' (the API key)' : ''}${accounts ? ` as ${accounts.map(quoted).join(', ')}` : ''}${scope ? ` for ${scope}` : ''}${until === undefined ? '' : ` on ${when(until)}`}`;
    case 'apiKey':
      return `set an API key for ${resource}${apiKeyWords(question)}`;
    case 'oauthClient':
      return `enter the client ${quoted(clientId ?? '')} for ${issuer}${registrationWords(question)}`;
    case 'signIn':
      return `sign in at ${resource}${issuer === undefined ? '' : ` by ${issuer}`}${accountWords(account)}, by ${method}${newClient ? ', with Keyturn registered there again' : ''}`;
    case 'proxy':
      return `add the proxy ${app} for ${resource}`;
    case 'forward':
      return `let apps on ${forward?.label}${hostKeyWords(forward)} ask for tokens of ${resources.join(', ')}${until === undefined ? '' : ` until ${when(until)}`}`;
    case 'exception':
      return exception === 'private-address'
        ? `confirm the private host ${hostOf(server ?? '')}`
        : `add the exception ${exception} for ${server}`;
    case 'settings':
      return setting?.value === undefined
        ? `unset ${setting?.name}`
        : `set ${setting.name} to ${quoted(String(setting.value))}`;
    case 'backup':
      return 'open the backup of a configuration';
    case 'resume':
      return 'resume all access';
    case 'passphrase':
      return 'change the vault’s passphrase';
    case 'unlock':
      return 'unlock the vault';
    default:
      return `run a command that this version does not know (${quoted(String(question.command))})`;
  }
}

const hostKeyWords = (forward: Question['forward']): string =>
  forward?.hostKey === undefined ? ' (a sandbox)' : ` (host key ${forward.hostKey})`;

/** The machine or sandbox that a program runs in. */
function forwardLines(forward: Question['forward']): string[] {
  return forward ? [`  it runs on ${forward.label}${hostKeyWords(forward)}, and comes by a forward`] : [];
}

/** Where a key would go, and which one it replaces. */
function apiKeyWords({ apiKey: key, replaces, unchecked }: Question): string {
  const words = [
    key === undefined ? '' : `, to go in ${apiKeyPlaceWords(key)}`,
    replaces === true ? ', instead of the one that was set there before' : '',
    unchecked === true ? ', without asking whether the server offers a sign-in' : '',
  ];
  return words.join('');
}

/** What a client is entered for, and which one it replaces. */
function registrationWords({
  grantType,
  authMethod,
  redirectUri,
  idp,
  assertion,
  replaces,
}: Question): string {
  const words = [
    grantType === undefined ? '' : `, grant type ${grantType}`,
    authMethod === undefined ? '' : `, authenticated by ${authMethod}`,
    redirectUri === undefined ? '' : `, redirected to ${quoted(redirectUri)}`,
    idp === undefined ? '' : `, with the identity provider ${quoted(idp)}`,
    assertion === undefined ? '' : `, with the assertion from ${quoted(assertion)}`,
    replaces === true ? ', instead of the client that was entered there before' : '',
  ];
  return words.join('');
}

/**
 * What the kernel reports of the program that asks, and what the program claims. A program's name proves nothing;
 * this says a little more.
 */
function processLines({ appProcess, proxied }: Question): string[] {
  if (proxied) return ['  the address of a proxy: any of your programs that knows it uses what you allow'];
  if (!appProcess) return [];
  if (!appProcess.verified) return ['  asked by an unverified process: this system does not tell which'];
  const { parents = [], enclosures = [], changeableBy, claim } = appProcess;
  const started = parents.length > 0 ? `, started by ${parents.join(' < ')}` : '';
  return [
    `  asked by ${processName(appProcess)}${started}`,
    `    ${fileWords[appProcess.file ?? 'unreadable']}`,
    ...(claim ? [`    it claims to run: ${claimed(claim)}`] : []),
    ...enclosures.map(
      ({ kind, name }) => `    in the ${kind} ${name}, a name that any of your programs can choose`,
    ),
    ...(changeableBy ? [`    ${changerWords[changeableBy]} can change this file`] : []),
  ];
}

const fileWords = {
  attested: 'the kernel says that this very file runs',
  interpreter: 'an interpreter: the kernel does not tell which script it runs',
  elsewhere:
    'unverified: the file at this path is not the one that runs (it was replaced, or this is a container)',
  unreadable: 'unverified: the kernel does not tell which file runs',
};

const changerWords = {
  you: 'all your programs',
  group: 'other users, of a group,',
  others: 'other users',
};

function claimed(claim: NonNullable<NonNullable<Question['appProcess']>['claim']>): string {
  const { arguments: given, isCut, folder } = claim;
  const line = [...given, ...(isCut ? ['…'] : [])].join(' ');
  return `${line === '' ? 'nothing' : line}${folder === undefined ? '' : `, in ${folder}`}`;
}
