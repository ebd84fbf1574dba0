/**
 * Who uses what: apps, servers, and the permissions between them.
 *
 * Invariant: a line stands for a permission that there is now, however it was used; the thickness alone says how much.
 */
import type { SignIn, ListedApiKey, PairedApp, Use } from '../../base/views.ts';
import { sumOf, type UseSum } from '../../state/uses.ts';
import { keyItem } from '../servers/api-key.tsx';

/** Apps, and servers, in one picture: more can’t be told apart. The lists have all of them. */
const maxNodes = 12;

export interface AppNode {
  readonly id: string;
  readonly name: string;
  /** Seconds since 1970. */
  readonly lastUsedAt?: number | undefined;
  /** Endpoints. */
  readonly servers: readonly string[];
  readonly use: UseSum;
}

export interface ServerNode {
  readonly endpoint: string;
  /** Of the servers' view; undefined without a sign-in and an API key. */
  readonly item: string | undefined;
  readonly signIn: SignIn | undefined;
  /** Names. */
  readonly apps: readonly string[];
  readonly use: UseSum;
}

export interface Link {
  /** An app's id. */
  readonly app: string;
  readonly endpoint: string;
  /** Places of the app and of the server in their columns. */
  readonly from: number;
  readonly to: number;
  /** Tokens and keys handed out in the last day. */
  readonly total: number;
}

export interface Graph {
  readonly apps: readonly AppNode[];
  readonly servers: readonly ServerNode[];
  readonly links: readonly Link[];
  /** There are more of them than the picture has. */
  readonly isCut: boolean;
}

interface Lists {
  readonly clients: readonly PairedApp[];
  readonly signIns: readonly SignIn[];
  readonly keys: readonly ListedApiKey[];
  readonly uses: readonly Use[];
}

/** The apps that were used last. Servers that need attention come first, then those that these apps may use. */
export function graphOf({ clients, signIns, keys, uses }: Lists): Graph {
  const all = clients
    .map((app) => ({ ...app, servers: allowedServers(app) }))
    .filter(({ servers }) => servers.length > 0)
    .toSorted((a, b) => (b.lastUsedAt ?? 0) - (a.lastUsedAt ?? 0));
  const apps = all.slice(0, maxNodes).map(({ appId: id, name, lastUsedAt, servers }) => ({
    id,
    name,
    lastUsedAt,
    servers,
    use: sumOf(uses, { app: name }),
  }));
  const standing = signIns.filter(({ state }) => state !== 'revoked');
  const endpoints = distinct([
    ...standing
      .filter((signIn) => signIn.state !== 'active' || signIn.trouble)
      .map(({ endpoint }) => endpoint),
    ...apps.flatMap(({ servers }) => servers),
    ...standing.map(({ endpoint }) => endpoint),
    ...keys.map(({ resource }) => resource),
  ]);
  const servers = endpoints.slice(0, maxNodes).map((endpoint) => {
    const signIn = standing.find((one) => one.endpoint === endpoint);
    const listed = keys.find(({ resource }) => resource === endpoint);
    return {
      endpoint,
      signIn,
      item: signIn?.id ?? (listed && keyItem(endpoint)),
      apps: distinct(all.filter((app) => app.servers.includes(endpoint)).map(({ name }) => name)),
      use: sumOf(uses, { endpoint }),
    };
  });
  const links = apps.flatMap(({ id, name, servers: theirs }, from) =>
    servers.flatMap(({ endpoint }, to) =>
      theirs.includes(endpoint)
        ? [{ app: id, endpoint, from, to, total: sumOf(uses, { app: name, endpoint }).total }]
        : [],
    ),
  );
  return { apps, servers, links, isCut: all.length > apps.length || endpoints.length > servers.length };
}

function allowedServers({ permissions }: PairedApp): string[] {
  return distinct(permissions.filter(({ decision }) => decision === 'allow').map(({ resource }) => resource));
}

const distinct = (values: readonly string[]): string[] => [...new Set(values)];
