/**
 * What a shell may complete an argument to: servers, apps and accounts that a running broker knows.
 *
 * Invariant: a press of the tab key starts no broker, waits a second at most, prints nothing but values, and fails
 * silently. A value that a shell could take for anything but a plain word is left out: apps and servers choose
 * their names. Loads no package.
 */
import { connectAsOwner } from '../../client/connect.ts';
import type { Connection } from '../../client/connection.ts';

/** Milliseconds: a user waits for the shell. */
const timeout = 1000;

/** More than that nobody reads. */
const maxValues = 500;

/** Words that mean themselves in bash, zsh and fish alike, and are no option. */
const plainWord = /^[A-Za-z0-9_][A-Za-z0-9_.:/@%+,-]*$/;

const listOf =
  (method: string, name: string) =>
  async (connection: Connection): Promise<unknown[]> =>
    listIn(await connection.request(method), name);

const signIns = listOf('signIn.list', 'signIns');
const apps = listOf('app.list', 'apps');
const proxies = listOf('proxy.list', 'proxies');
const keys = listOf('apiKey.list', 'apiKeys');
const requests = listOf('request.list', 'requests');

/** The id of an app whose name is no plain word, e.g. one that came by a proxy. */
const wordFor = (app: unknown): unknown => {
  const name = field(app, 'name');
  return typeof name === 'string' && plainWord.test(name) ? name : field(app, 'appId');
};

const collectors = {
  resources: async (connection) => [
    ...(await signIns(connection)).map((signIn) => field(signIn, 'endpoint')),
    ...(await apps(connection)).flatMap((app) =>
      listIn(app, 'permissions').map((permission) => field(permission, 'resource')),
    ),
    ...(await keys(connection)).map((key) => field(key, 'resource')),
  ],
  proxies: async (connection) =>
    (await proxies(connection)).flatMap((proxy) => [field(proxy, 'name'), field(proxy, 'resource')]),
  requests: async (connection) => (await requests(connection)).map((one) => field(one, 'id')),
  apps: async (connection) => (await apps(connection)).map(wordFor),
  accounts: async (connection) => (await signIns(connection)).map((signIn) => field(signIn, 'account')),
} as const satisfies Record<string, (connection: Connection) => Promise<readonly unknown[]>>;

export type ValueKind = keyof typeof collectors;

/** One a line. Never throws. */
export async function printKnownValues(kind: string | undefined): Promise<void> {
  const collect = Object.entries(collectors).find(([name]) => name === kind)?.[1];
  if (!collect) return;
  // Whatever it waits for then, nobody waits for it.
  setTimeout(() => process.exit(0), timeout).unref();
  try {
    const connection = await connectAsOwner();
    try {
      const values = (await collect(connection)).filter(
        (value): value is string => typeof value === 'string' && plainWord.test(value),
      );
      const lines = [...new Set(values)].toSorted().slice(0, maxValues);
      process.stdout.write(lines.map((line) => `${line}\n`).join(''));
    } finally {
      connection.close();
    }
  } catch {
    // A shell that completes has no place for a complaint.
  }
}

function listIn(value: unknown, name: string): unknown[] {
  const list = field(value, name);
  return Array.isArray(list) ? list : [];
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined;
}
