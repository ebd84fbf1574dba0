/** What the broker answers in the states of the windows (states.ts): nothing, a crowd, long texts, all faults. */
import type { ChannelName, Refusal, ResultOn } from '../../../electron/bridge/channels.ts';
import { ago, ahead, emptyStatus, examplePreferences, exampleStatus, hour } from '../homes/example-desk.ts';
import { longAddress, longName, scopesOf, type Question } from './questions.ts';

export type Lists = { readonly [C in ChannelName]?: ResultOn<C> };
type SignIn = ResultOn<'signIn.list'>['signIns'][number];
type Client = ResultOn<'app.list'>['apps'][number];
type Status = ResultOn<'status'>;

export const many = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

export const withStatus = (fields: Partial<Status>): Lists => ({ status: { ...exampleStatus, ...fields } });
/** To another machine, and to a sandbox of this one. */
export const forward: Lists = {
  ...withStatus({ forwards: 2 }),
  'forward.list': {
    forwards: [
      {
        id: 'f1',
        label: 'build.example',
        hostKey: `SHA256:${'k'.repeat(43)}`,
        mark: '3f9a1c22',
        socket: '/run/f1.sock',
        resources: ['https://notes.example/mcp', longAddress],
        until: ahead(hour),
        connections: 2,
      },
      {
        id: 'f2',
        label: 'agent',
        socket: '/run/f2.sock',
        resources: ['https://notes.example/mcp'],
        until: ahead(8 * hour),
        connections: 0,
      },
    ],
  },
};

export const waiting = (...approvalRequests: Question[]): Lists => ({
  'request.list': { requests: approvalRequests },
});

export const signInOf = (fields: Partial<SignIn>): SignIn => ({
  id: 'g1',
  resource: 'https://notes.example/mcp',
  endpoint: 'https://notes.example/mcp',
  issuer: 'https://login.example',
  account: 'anna',
  scope: 'notes:read',
  state: 'active',
  exceptions: [],
  apps: ['Quill'],
  ...fields,
});

export const clientOf = (fields: Partial<Client>): Client => ({
  appId: 'c1',
  name: 'Quill',
  pairedAt: ago(90 * hour),
  permissions: [],
  ...fields,
});

/** A window with nothing in it yet. */
export const empty: Lists = {
  'signIn.list': { signIns: [] },
  'app.list': { apps: [] },
  'audit.tail': { rows: [] },
  'audit.activity': { hours: [], uses: [] },
  'oauthClient.list': { oauthClients: [] },
  'settings.get': { settings: { defaultDuration: 'untilRevoked' }, details: [], approver: 'app' },
  status: emptyStatus,
};

const keyPlace = { header: 'X-Api-Key' };

export const long: Lists = {
  'signIn.list': {
    signIns: [
      signInOf({
        endpoint: longAddress,
        resource: longAddress,
        issuer: longAddress,
        account: longName,
        scope: `${longName} ${scopesOf(60)}`,
        apps: [longName, ...many(40).map((n) => `program-${n}`)],
        exceptions: ['no-resource', 'audience', 'issuer-mismatch', 'no-pkce-metadata'],
        audience: 'other',
      }),
    ],
  },
  'app.list': {
    apps: [
      clientOf({
        name: longName,
        executable: `/home/${longName}`,
        file: 'interpreter',
        permissions: [
          {
            resource: longAddress,
            scope: `${longName} ${scopesOf(60)}`,
            decision: 'allow',
            accounts: [longName],
            issuers: [longAddress],
          },
          { resource: longAddress, decision: 'deny' },
        ],
      }),
    ],
  },
  'apiKey.list': {
    apiKeys: [{ resource: longAddress, setAt: ago(hour), header: longName, apps: [longName] }],
  },
  'audit.tail': {
    rows: many(40).map((index) => ({
      time: ago(index * 60) * 1000,
      event: index === 3 ? longName : 'refused',
      outcome: longName,
      app: longName,
      endpoint: longAddress,
      issuer: longAddress,
      scope: [longName],
    })),
  },
  'oauthClient.list': {
    oauthClients: [
      {
        issuer: longAddress,
        clientId: longName,
        source: 'preregistered',
        authMethod: 'none',
        redirectUri: longAddress,
        registeredAt: ago(hour),
      },
    ],
  },
};

/** All that may be wrong with a sign-in: why one is needed, a failing refresh, an unknown one, each receipt. */
export const troubled: Lists = {
  'signIn.list': {
    signIns: [
      signInOf({
        state: 'signInRequired',
        why: 'its tokens are no longer stored',
        trouble: {
          reason: 'authorization_server_unreachable',
          since: ago(2 * hour),
          nextTryAt: ahead(5 * hour),
        },
        lostRefresh: { startedAt: ago(3 * hour), cause: 'brokerStopped' },
        audience: 'unbound',
      }),
      ...(['confirmed', 'notOffered', 'pending', 'abandoned'] as const).map((receipt, at) =>
        signInOf({
          id: `g${at + 2}`,
          state: 'revoked',
          receipt,
          endedAt: ago(hour),
          nextTryAt: ahead(hour),
          triedUntil: ahead(48 * hour),
          liveUntil: ahead(hour),
        }),
      ),
      signInOf({ id: 'g6', state: 'refreshing', lostRefresh: { startedAt: ago(30), cause: 'answerLost' } }),
    ],
  },
  'apiKey.list': {
    apiKeys: [
      {
        ...keyPlace,
        resource: 'https://keys.example/v1',
        setAt: ago(9 * hour),
        rejectedAt: ago(hour),
        unchecked: true,
        apps: ['Quill'],
      },
    ],
  },
  'app.list': {
    apps: [
      clientOf({
        name: 'cli',
        permissions: [
          { resource: 'https://notes.example/mcp', decision: 'allow' },
          { resource: 'https://keys.example/v1', decision: 'allow', apiKey: keyPlace, until: ahead(hour) },
          { resource: 'https://calendar.example/v2', decision: 'deny' },
          {
            resource: 'https://tickets.example/mcp',
            scope: scopesOf(12),
            decision: 'allow',
            run: { verified: true, pid: 4711 },
            until: ahead(hour),
          },
        ],
      }),
    ],
  },
};

/** Everything that may be wrong with the broker itself. */
export const wrong: Lists = {
  'settings.get': {
    settings: {},
    approver: 'app',
    details: [
      { name: 'lockAfter', source: 'default', appliesImmediately: false },
      { name: 'noProxy', value: [longName, 'localhost'], source: 'file', appliesImmediately: true },
      {
        name: 'httpsProxy',
        value: longAddress,
        source: 'vault',
        written: longName,
        isUnapproved: true,
        appliesImmediately: true,
      },
    ],
  },
  'preferences.get': { ...examplePreferences, screenLock: 'noProgram' },
  ...withStatus({
    vault: 'sealed-file',
    vaultOpenedBy: 'passphrase',
    vaultState: { state: 'damaged', since: ago(60), what: 'An item is missing.', hint: 'Sign in again.' },
    insecureLoopback: true,
    exceptions: [{ server: longAddress, names: ['no-pkce-metadata', 'audience', 'private-address'] }],
    clocks: [{ issuer: longAddress, ahead: -75 }],
    unshielded: ['A crash may leave a file with Keyturn’s memory.'],
    audit: { why: 'The audit log can’t be written (ENOSPC).', waiting: 3, lost: 0 },
    log: { level: 'info', file: `/state/${longName}`, ok: false },
    unreadable: [{ file: `/home/${longName}`, why: 'Its MAC is wrong.', hint: 'Restore it, or remove it.' }],
    browser: longName,
    homeState: {
      state: 'mismatched',
      approver: 'app',
      hasOpenedVault: true,
      isWaiting: true,
      why: 'Keyturn’s data files don’t match each other: the settings name another vault.',
      differing: [{ name: 'httpsProxy', value: longAddress, inEffect: 'http://proxy.example:3128' }],
    },
    proxies: [
      { id: 'p1', name: 'n'.repeat(32), resource: longAddress, port: 61_820, state: 'failed' },
      { id: 'p2', name: 'notes', resource: longAddress, port: 61_821, state: 'starting' },
    ],
  }),
};

export const vault = (state: Status['vaultState']['state'], fields: Partial<Status> = {}): Lists =>
  withStatus({
    ...fields,
    vaultState: { state, since: ago(600), hint: 'Open the keychain of this computer.' },
  });

/** Of a list that can't be read. */
export const refusal: Refusal = {
  reason: 'vault_unreadable',
  message: 'The sealed file can’t be read.',
  hint: 'Restore it from a backup, or remove it: keyturn reset',
  rule: 'RFC 9700 §4.14',
  retryAfter: 90,
};
