/**
 * Lists for a window that are written down, not a broker's: for texts and states that a real one hardly ever has.
 *
 * Invariant: they pass no schema on the way, so the page must stand by itself.
 */
import type { Envelope } from '../../electron/bridge/channels.ts';
import { emptyStatus as status, exampleNow, examplePreferences } from '../support/homes/example-desk.ts';
import type { Answer } from './page-window.ts';

export type Lists = Readonly<Record<string, unknown>>;
/** Seconds since 1970 at which the lists are looked at: a window's clock is put there. */
export const now = exampleNow;
export const hour = 3600;

/** So many hours to come, and a quarter: they are told in whole ones. In seconds. */
export const inHours = (hours: number): number => now + hours * hour + hour / 4;

const nothing: Lists = {
  'signIn.list': { signIns: [] },
  'app.list': { apps: [] },
  'request.list': { requests: [] },
  'audit.activity': { hours: [], uses: [] },
  'audit.tail': { rows: [] },
  'apiKey.list': { apiKeys: [] },
  'oauthClient.list': { oauthClients: [] },
  'settings.get': { settings: { defaultLease: 'untilRevoked' }, details: [], keyturnApp: 'running' },
  'preferences.get': examplePreferences,
  'card.shown': {},
  'card.answer': {},
  'card.fit': {},
  status,
};

/** Answers with what is written down; `asked` gets the rest. */
export function answering(lists: Lists, asked: [unknown, unknown][] = []): Answer {
  const known: Lists = { ...nothing, ...lists };
  return async (channel, params): Promise<Envelope<unknown>> => {
    const value = typeof channel === 'string' ? known[channel] : undefined;
    if (value === undefined) asked.push([channel, params]);
    return { ok: true, value: value ?? {} };
  };
}

export const grant = (fields: object): object => ({
  id: 'a1',
  resource: 'https://notes.example/mcp',
  endpoint: 'https://notes.example/mcp',
  issuer: 'https://login.example',
  account: 'alice',
  scope: 'notes:read',
  state: 'active',
  exceptions: [],
  apps: ['editor'],
  ...fields,
});

export const program = (fields: object): object => ({
  appId: 'c1',
  name: 'editor',
  pairedAt: now - 1000,
  permissions: [],
  ...fields,
});

export const question = (fields: object): object => ({
  id: 'q1',
  kind: 'allow',
  app: 'editor',
  resource: 'https://notes.example/mcp',
  scope: 'notes:read',
  createdAt: now,
  state: 'open',
  ...fields,
});
