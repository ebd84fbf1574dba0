/**
 * The rows of the audit log: their fields, and what of an event is written down.
 *
 * Invariant: a row holds no secret. URLs lose query, fragment and user part, because apps put keys there. Every
 * text from outside is bounded, so that no app can fill the log with one name.
 */
import { z } from 'zod';
import { parseJson } from '../base/text/json.ts';

export interface AuditRow {
  readonly event:
    | 'token'
    /** A proof of the key that a token is bound to, for a request of an app. */
    | 'proof'
    | 'refused'
    | 'refresh'
    | 'signIn'
    | 'permission'
    | 'pair'
    | 'app'
    | 'revoke'
    | 'oauthClient'
    /** An API key: set, removed, given to an app, rejected by its server. */
    | 'apiKey'
    | 'exception'
    | 'proxy'
    /** A socket for apps elsewhere: opened, ended. */
    | 'forward'
    /** Connections that the socket turned away at a limit. */
    | 'socket'
    | 'settings'
    | 'vault'
    /** The user paused all access, or resumed it; or a pause came to its end. */
    | 'pause'
    /** The user's answer to a command that widens. */
    | 'command'
    /** The user's answer to an address that an MCP server wants opened. */
    | 'url'
    /** The user's answer to which account an app uses at a server. */
    | 'account'
    /** The machine was suspended, or somebody set its clock. */
    | 'clock'
    /** Rows that the log had no room for; `count` says how many. */
    | 'lost';
  readonly outcome: string;
  readonly app?: string;
  readonly endpoint?: string;
  readonly resource?: string;
  readonly issuer?: string;
  /** The address that was to be opened. */
  readonly url?: string;
  readonly signIn?: string;
  readonly scope?: readonly string[];
  /** Recognises a token without showing it: 16 hexadecimal digits, from `Audit.fingerprint`. */
  readonly fingerprint?: string | undefined;
}

/** How many repeats a row stands for, and when the first and the last of them were (ms since 1970). */
export interface Repeats {
  readonly count: number;
  readonly first: number;
  readonly last: number;
}

/** A row on its way to the file. `time` in milliseconds since 1970. */
export interface Entry {
  readonly time: number;
  readonly row: AuditRow;
  readonly repeats?: Repeats;
}

const natural = z.int().nonnegative();

/** A row as it is read back from a file; fields that this version doesn't know are dropped. */
const storedRowSchema = z.object({
  /** Milliseconds since 1970. */
  time: z.number(),
  event: z.string(),
  outcome: z.string().optional(),
  app: z.string().optional(),
  endpoint: z.string().optional(),
  resource: z.string().optional(),
  issuer: z.string().optional(),
  url: z.string().optional(),
  signIn: z.string().optional(),
  scope: z.array(z.string()).optional(),
  fingerprint: z.string().optional(),
  count: natural.optional(),
  first: z.number().optional(),
  last: z.number().optional(),
});

export type StoredRow = z.infer<typeof storedRowSchema>;

export const rowFields = storedRowSchema.keyof().options;

/** The row on a line; undefined if the line isn't a row of any version. */
export function readRow(line: Buffer): StoredRow | undefined {
  return storedRowSchema.safeParse(parseJson(line.toString('utf8'))).data;
}

/** Characters of one text. Real endpoints and names are far shorter; more would only fill the log. */
const maxTextLength = 1024;
/** Scope names of one row. Sign-ins seldom have ten; a hostile request may name thousands. */
const maxScopes = 64;

/** The line of an entry, with its line feed. */
export function lineOf({ time, row, repeats }: Entry): string {
  const written = {
    time,
    event: row.event,
    outcome: text(row.outcome),
    app: text(row.app),
    endpoint: withoutSecrets(row.endpoint),
    resource: withoutSecrets(row.resource),
    issuer: withoutSecrets(row.issuer),
    url: withoutSecrets(row.url),
    signIn: text(row.signIn),
    scope: scopeOf(row.scope),
    fingerprint: text(row.fingerprint),
    ...repeats,
  };
  return `${JSON.stringify(written)}\n`;
}

function text(value: string | undefined): string | undefined {
  return value === undefined || value.length <= maxTextLength ? value : `${value.slice(0, maxTextLength)}…`;
}

function scopeOf(scope: readonly string[] | undefined): readonly (string | undefined)[] | undefined {
  if (scope === undefined) return undefined;
  const names = scope.slice(0, maxScopes).map(text);
  return scope.length > maxScopes ? [...names, '…'] : names;
}

function withoutSecrets(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  const shown = url.replace(/^([^:/?#]+:\/\/)[^/?#]*@/, '$1…@');
  const end = shown.search(/[?#]/);
  return text(end < 0 ? shown : `${shown.slice(0, end + 1)}…`);
}
