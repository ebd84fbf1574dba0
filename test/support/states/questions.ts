/** Every question that a card can ask, invented: by its kind, by what is rare about it, and with long texts. */
import type { ResultOn } from '../../../electron/bridge/channels.ts';
import { exampleNow, exampleQuestions } from '../homes/example-desk.ts';

export type Question = ResultOn<'request.list'>['requests'][number];

const { allow, pair, url, command } = exampleQuestions;
const { appProcess } = command;

/** Seconds. */
const minute = 60;

/** A process whose file, arguments and names are all this text. */
export function hostileProcess(text: string): Question['appProcess'] {
  const claimed = text.slice(0, 256);
  return {
    verified: true,
    pid: 7,
    executable: text,
    file: 'interpreter',
    claim: { script: claimed, arguments: [claimed], isCut: true, folder: claimed },
    enclosures: [{ kind: 'unit', name: claimed }],
    parents: [text, 'sh'],
  };
}

const attestedEditor: Question['appProcess'] = {
  verified: true,
  pid: 4711,
  executable: '/usr/bin/editor',
  file: 'attested',
  parents: ['bash', 'tmux', 'systemd'],
};

export const longName = 'W'.repeat(10_000);
export const longAddress = `https://${'notes.'.repeat(40)}example/${'path/'.repeat(360)}`;

/** So many permissions, the last of which deletes. */
export const scopesOf = (count: number): string =>
  Array.from({ length: count }, (_, at) => `notes.part${at}:${at === count - 1 ? 'delete' : 'read'}`).join(
    ' ',
  );

const signIn = (fields: Partial<Question>): Question => ({
  id: 'q1',
  kind: 'signIn',
  resource: 'https://notes.example/mcp',
  issuer: 'https://login.example',
  url: `https://login.example/authorize?client_id=keyturn&state=${'a1b2c3d4'.repeat(8)}`,
  createdAt: exampleNow - 5,
  state: 'open',
  ...fields,
});

/** What the user typed after `keyturn`. */
const typed: Readonly<Partial<Record<string, string>>> = {
  allow: 'app allow cli https://notes.example/mcp --api-key',
  endDenial: 'app revoke Quill https://notes.example/mcp',
  key: 'api-key set https://notes.example/mcp --unchecked',
  register: 'oauth-client add https://login.example --client-id c7f0a1d2-5b1e-4f0e-9a35-2d8a4f6b9e11',
  login: 'login https://notes.example/mcp --device --new-client',
  override: 'exception add https://notes.example no-pkce-metadata',
  proxy: 'proxy add https://notes.example/mcp',
  forward: 'forward open build.example https://notes.example/mcp',
  settings: 'settings set noProxy localhost',
  backup: 'setup undo',
};

const commandOf = (name: NonNullable<Question['command']>, fields: Partial<Question> = {}): Question => ({
  id: 'q1',
  kind: 'command',
  command: name,
  appProcess: {
    ...appProcess,
    claim: { ...appProcess.claim, arguments: [appProcess.claim.script, ...(typed[name] ?? name).split(' ')] },
  },
  createdAt: exampleNow - 10,
  state: 'open',
  ...fields,
});

const notes = { resource: 'https://notes.example/mcp' };
const header = { header: 'Authorization', scheme: 'Bearer' };

/** A machine that a program asks from. */
const elsewhere = { label: 'build.example', hostKey: `SHA256:${'aB3/'.repeat(10)}xyz` };

const choice: Question = {
  id: 'choice',
  kind: 'choice',
  app: 'Quill',
  appProcess: allow.appProcess,
  resource: notes.resource,
  accounts: ['anna@work.example', 'anna@home.example'],
  createdAt: exampleNow - 20,
  state: 'open',
};

/** Requests of apps, by what is special about each. */
const requests: Readonly<Record<string, Question>> = {
  allow,
  'allow-again': {
    ...allow,
    app: 'Quill',
    appProcess: attestedEditor,
    resource: 'https://calendar.example/v2',
    expiresAt: exampleNow + 5 * minute,
  },
  'allow-account': { ...allow, account: 'anna@work.example', accounts: ['anna@home.example', 'anna'] },
  'allow-command': { ...allow, app: 'cli', appProcess },
  'allow-any-scope': { ...allow, scope: '' },
  'allow-60-scopes': { ...allow, scope: scopesOf(60) },
  /** As long as the wire lets it be. */
  'allow-whole': {
    ...allow,
    scope: `${scopesOf(60)} files:${'x'.repeat(900)}:admin`,
    resource: `https://notes.example/${'path/'.repeat(300)}end`,
    appProcess: { ...allow.appProcess, executable: `/opt/${'deep/'.repeat(700)}editor` },
  },
  'allow-key': {
    ...allow,
    resource: 'https://keys.example/v1',
    scope: '',
    account: undefined,
    issuer: undefined,
    apiKey: header,
  },
  'allow-proxied': { ...allow, app: 'notes', proxied: true, appProcess: undefined },
  'allow-forwarded': { ...allow, app: 'quill@build.example', forward: elsewhere, appProcess },
  'allow-sandboxed': { ...allow, app: 'quill@box', forward: { label: 'box' }, appProcess },
  'allow-unverified': {
    ...allow,
    appProcess: { verified: false, pid: 4711, executable: '/opt/quill/bin/quill', file: 'unreadable' },
  },
  'allow-elsewhere': {
    ...allow,
    appProcess: {
      ...attestedEditor,
      verified: true,
      file: 'elsewhere',
      changeableBy: 'others',
      enclosures: [
        { kind: 'container', name: 'c0ffee5e7b1d' },
        { kind: 'flatpak', name: 'org.example.Quill' },
      ],
    },
  },
  'allow-long': {
    ...allow,
    app: longName,
    appProcess: hostileProcess(longName),
    resource: longAddress,
    scope: `${longName} ${'short '.repeat(20)}last`,
    account: longName,
    accounts: [longName, 'anna'],
  },
  pair,
  'pair-long': { ...pair, app: longName, appProcess: hostileProcess(longName) },
  choice,
  'choice-long': {
    ...choice,
    app: longName,
    appProcess: hostileProcess(longName),
    resource: longAddress,
    accounts: [longName, longName.slice(1)],
  },
  url,
  'url-silent': { ...url, message: '' },
  'url-long': { ...url, url: longAddress, message: longName, resource: longAddress },
};

/** What one run of an app asks in one breath: one card. Each is about another server, and special in another way. */
export const oneBreath: readonly Question[] = [
  { ...allow, expiresAt: exampleNow + 10 * minute },
  { ...allow, id: 'q2', ...notes, scope: scopesOf(4), account: 'anna@work.example' },
  { ...allow, id: 'q3', resource: 'https://keys.example/v1', scope: '', account: undefined, apiKey: header },
  { ...allow, id: 'q4', resource: 'https://tickets.example/mcp', scope: '' },
].map((question) => ({ ...question, card: allow.id }));

/** As many as one card has, as long as texts get. */
export const longBreath: readonly Question[] = Array.from({ length: 5 }, (_, at) => ({
  ...allow,
  id: `q${at}`,
  card: 'q0',
  app: longName,
  appProcess: hostileProcess(longName),
  resource: `${longAddress}${at}`,
  scope: at === 0 ? `${longName} ${scopesOf(60)}` : scopesOf(3),
  account: longName,
}));

/** Sign-ins that are under way, and what came of one. */
const signIns: Readonly<Record<string, Question>> = {
  login: signIn({}),
  'login-new-issuer': signIn({ formerIssuer: 'https://old-login.example', newClient: true, account: 'anna' }),
  'login-long': signIn({ resource: longAddress, issuer: longAddress, url: longAddress, account: longName }),
  device: signIn({ kind: 'device', code: 'WDJB-MJHT', url: 'https://login.example/device' }),
  'device-long': signIn({ kind: 'device', code: 'WDJB-MJHT-'.repeat(6), url: longAddress }),
  account: signIn({
    kind: 'account',
    url: undefined,
    account: 'anna@work.example',
    accounts: ['anna@home.example', 'anna'],
  }),
  'account-long': signIn({ kind: 'account', accounts: [longName, longName.slice(1)] }),
};

/** Each kind of command, with all that its card may say. */
const commands: Readonly<Record<string, Question>> = {
  command,
  'command-allow-key': commandOf('allow', { ...notes, app: 'cli', apiKey: header }),
  'command-end-denial': commandOf('endDenial', {
    ...notes,
    app: 'Quill',
    accounts: ['anna', 'anna@home.example'],
    scope: 'notes:read notes:write',
  }),
  'command-key': commandOf('apiKey', { ...notes, apiKey: header, replaces: true, unchecked: true }),
  'command-register': commandOf('oauthClient', {
    issuer: 'https://login.example',
    clientId: 'c7f0a1d2-5b1e-4f0e-9a35-2d8a4f6b9e11',
    grantType: 'id-jag',
    authMethod: 'private_key_jwt',
    redirectUri: 'http://127.0.0.1:61742/callback',
    idp: 'https://idp.home.example',
    replaces: true,
  }),
  'command-login': commandOf('signIn', {
    ...notes,
    account: 'anna',
    method: 'device',
    scope: 'notes:read notes:delete',
    newClient: true,
  }),
  'command-exception': commandOf('exception', {
    server: 'https://notes.example',
    exception: 'no-pkce-metadata',
  }),
  'command-proxy': commandOf('proxy', notes),
  'command-forward': commandOf('forward', {
    forward: elsewhere,
    resources: [notes.resource, longAddress],
    until: exampleNow + 28_800,
  }),
  'command-settings': commandOf('settings', {
    setting: { name: 'noProxy', value: ['localhost', '127.0.0.1', `${'host.'.repeat(60)}example`] },
  }),
  'command-unlock': commandOf('unlock'),
  'command-passphrase': commandOf('passphrase'),
  'command-backup': commandOf('backup'),
  'command-resume': commandOf('resume'),
  'command-long': commandOf('allow', {
    resource: longAddress,
    app: longName,
    account: longName,
    scope: longName,
    appProcess: hostileProcess(longName),
  }),
};

const settings: Readonly<Record<string, Question>> = {
  settings: {
    id: 'q1',
    kind: 'settings',
    settings: [
      { name: 'httpsProxy', value: 'http://proxy.example:3128' },
      { name: 'extraAuthorities', value: '/home/a/ca.pem', inEffect: '/home/a/ca.pem', isContent: true },
      { name: 'noProxy', value: longName, inEffect: ['localhost', longName] },
    ],
    createdAt: exampleNow - 60,
    state: 'open',
  },
};

export const questions: Record<string, Question> = { ...requests, ...signIns, ...commands, ...settings };
