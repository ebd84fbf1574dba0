/**
 * A row of the audit trail: what the broker says happened, and what is kept of it.
 *
 * Invariant: a row holds no secret. URLs lose query, fragment and user part, because programs put
 * keys there; every text is bounded, so that no program can fill the log with one name.
 */
import { z } from 'zod';

export interface AuditRow {
  readonly event:
    | 'token'
    | 'refused'
    | 'refresh'
    | 'login'
    | 'permission'
    | 'pair'
    | 'client'
    | 'revoke'
    /** The index of grants did not say what the vault says. */
    | 'index'
    | 'registration'
    /** An API key: set, removed, given to a program, refused by its server. */
    | 'key'
    | 'override'
    | 'proxy'
    | 'settings'
    | 'vault'
    /** The person's answer to a command that widens. */
    | 'command'
    /** The person's answer to an address that a protected server wants opened. */
    | 'url'
    /** A suspend, or a hand on the wall clock. */
    | 'clock';
  readonly outcome: string;
  readonly client?: string;
  readonly endpoint?: string;
  readonly resource?: string;
  readonly issuer?: string;
  /** The address that was to be opened. */
  readonly url?: string;
  readonly grant?: string;
  readonly scope?: readonly string[];
  /** Recognises a token without telling it: 16 hexadecimal digits, from `Audit.fingerprint`. */
  readonly fingerprint?: string;
}

/** How many repeats a row stands for, and when the first and the last of them were (ms since 1970). */
export interface Repeats {
  readonly count: number;
  readonly first: number;
  readonly last: number;
}

/** What the log says of itself. `verifyAudit` reads these; nothing outside writes them. */
export type OwnRow =
  | { readonly event: 'lost'; readonly rows: number }
  /** The chain's first row. `lines` and `digest` hold what an older version wrote before it. */
  | {
      readonly event: 'audit';
      readonly outcome: 'started';
      readonly lines?: number;
      readonly digest?: string;
    }
  /** The first row of a new file; `previous` is the head of the file before. */
  | { readonly event: 'audit'; readonly outcome: 'continued'; readonly previous: string }
  /** The oldest file is about to be removed: it ended with row `through`, whose head was `head`. */
  | {
      readonly event: 'audit';
      readonly outcome: 'removed';
      readonly file: string;
      readonly through: number;
      readonly head: string;
    }
  /** The lines just above hold no row: `torn` for one unfinished line, `foreign` for anything else. */
  | {
      readonly event: 'audit';
      readonly outcome: 'torn' | 'foreign';
      readonly lines: number;
      readonly digest: string;
    }
  /** From here on rows are keyed. `plain` rows above were written by this same run before the vault opened. */
  | { readonly event: 'audit'; readonly outcome: 'sealed'; readonly plain: number }
  /** The anchor did not fit the log when this run first looked. */
  | { readonly event: 'audit'; readonly outcome: 'anchor-broken'; readonly what: string };

/** A row on its way to the file. `time` in milliseconds since 1970. */
export interface Entry {
  readonly time: number;
  readonly row: AuditRow | OwnRow;
  readonly repeats?: Repeats;
}

const natural = z.int().nonnegative();

/** A row as it is read back from a file; fields that this version doesn't know are dropped. */
export const storedRowSchema = z.object({
  /** Absent in rows of version 0.1, which knew no chain. */
  sequence: natural.optional(),
  /** Milliseconds since 1970. */
  time: z.number(),
  event: z.string(),
  outcome: z.string().optional(),
  client: z.string().optional(),
  endpoint: z.string().optional(),
  resource: z.string().optional(),
  issuer: z.string().optional(),
  url: z.string().optional(),
  grant: z.string().optional(),
  scope: z.array(z.string()).optional(),
  fingerprint: z.string().optional(),
  count: natural.optional(),
  first: z.number().optional(),
  last: z.number().optional(),
  rows: natural.optional(),
  lines: natural.optional(),
  digest: z.string().optional(),
  previous: z.string().optional(),
  file: z.string().optional(),
  through: natural.optional(),
  head: z.string().optional(),
  plain: natural.optional(),
  what: z.string().optional(),
});

export type StoredRow = z.infer<typeof storedRowSchema>;

/** The row on a line; undefined where the line is no row of any version. */
export function readRow(line: Buffer): StoredRow | undefined {
  let json: unknown;
  try {
    json = JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
  return storedRowSchema.safeParse(json).data;
}

/** Characters of one text. Real endpoints and names are far shorter; more would only fill the log. */
const maxTextLength = 1024;
/** Scope names of one row. Grants seldom have ten; a hostile request may name thousands. */
const maxScopes = 64;

/** What is written of an entry, in the order of the file. */
export function bodyOf(sequence: number, { time, row, repeats }: Entry): Record<string, unknown> {
  if (row.event === 'audit' || row.event === 'lost') return { sequence, time, ...row };
  return {
    sequence,
    time,
    event: row.event,
    outcome: text(row.outcome),
    client: text(row.client),
    endpoint: withoutSecrets(row.endpoint),
    resource: withoutSecrets(row.resource),
    issuer: withoutSecrets(row.issuer),
    url: withoutSecrets(row.url),
    grant: text(row.grant),
    scope: scopeOf(row.scope),
    fingerprint: text(row.fingerprint),
    ...repeats,
  };
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
