/**
 * Apps, their permissions, and the forwards by which apps elsewhere come, as schemas of the wire.
 *
 * Invariant: every string has a maximum length. A forward's label can be in a file's name and in a command.
 */
import * as z from 'zod';
import { appProcess, executable } from './app-process-schema.ts';
import { forwardLabelPattern } from '../../wire/forwarded.ts';
import { account, count, day, id, instant, apiKeyHeader, scope, shownName, url } from './values.ts';

export const permission = z.object({
  resource: url,
  scope: scope.optional(),
  until: instant.optional(),
  decision: z.literal(['allow', 'deny']),
});

const heldPermission = permission.extend({
  /** What the user denied of what the app asked for besides. */
  deniedScope: scope.optional(),
  /** The accounts there that the user denied it. */
  deniedAccounts: z.array(account).optional(),
  /** It is for the endpoint's API key, which goes in this header, and for no token. */
  apiKey: apiKeyHeader.optional(),
  /** The accounts that the app works as there; absent while it names none, until its first token. */
  accounts: z.array(account).optional(),
  /** The authorization server of each of these accounts, if the sign-ins there are at several. */
  issuers: z.array(url).optional(),
  /** Of several: the one for requests that name none; absent while nobody has chosen. */
  account: account.optional(),
  /** When the user last decided it. */
  decidedAt: instant.optional(),
  /** When the broker last gave the app what this permission is for, since the broker started. */
  lastUsedAt: instant.optional(),
  /** The permission is for this run of the app only. */
  run: appProcess.optional(),
  /** And for one token. */
  once: z.literal(true).optional(),
});

const label = z.string().regex(forwardLabelPattern);

/** As OpenSSH shows it: SHA-256 of the key in base64, without padding. */
const hostKey = z.string().regex(/^SHA256:[A-Za-z0-9+/]{43}$/);

/** Where a forwarded app runs. Without a host key: in a sandbox of this machine. */
export const forwardOrigin = z.object({ label, hostKey: hostKey.optional() });

export const pairedApp = z.object({
  appId: id,
  name: shownName,
  pairedAt: instant,
  lastUsedAt: instant.optional(),
  /** As the kernel told it at the pairing; for display. */
  executable: executable.optional(),
  /** What that says: of an interpreter not which program it ran. */
  file: z.literal(['attested', 'interpreter']).optional(),
  /** It is a proxy's address: any program that knows it uses it. */
  proxied: z.literal(true).optional(),
  /** It runs elsewhere, and comes by this forward. */
  forward: forwardOrigin.optional(),
  permissions: z.array(heldPermission),
});

/** A month: a machine that is used for longer is forwarded to again. */
const longest = 31 * day;

/** An absolute path. The limit is that of a socket's path on Linux. */
const socketPath = z.string().regex(/^\/[^\0]{1,107}$/);

const maxResources = 64;

export const forward = forwardOrigin.extend({
  id,
  /** Where the broker listens on this machine. */
  socket: socketPath,
  /** Of one to another machine: what follows the label in the name of its socket there. */
  mark: z
    .string()
    .regex(/^[0-9a-f]{8}$/)
    .optional(),
  resources: z.array(url),
  /** It ends then, or with the connection that opened it. */
  until: instant,
  /** Connections of apps that proved themselves there. */
  connections: count,
});

export const forwardOpen = z
  .object({
    label,
    /** Of the machine at the other end, as `ssh` verified it. */
    hostKey: hostKey.optional(),
    /** Where to listen, for a sandbox. Absent: in the broker's own folder. */
    path: socketPath.optional(),
    resources: z.array(url).min(1).max(maxResources),
    /** Seconds. */
    lifetime: z.int().positive().max(longest),
  })
  .refine(
    ({ hostKey: key, path }) => (key === undefined) !== (path === undefined),
    'exactly one of hostKey and path',
  );

/** A label or an id. */
export const forwardNamed = z.object({ forward: z.string().min(1).max(64) });
