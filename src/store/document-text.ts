/**
 * The text of document.json: a head, one record a line, and on the last line an HMAC-SHA256 of all lines before it.
 *
 * Invariant: only the exact bytes that were written verify. Reading never repairs anything.
 */
import { createHmac, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { constantTimeEqual } from '../base/constant-time.ts';
import { unreadableFile } from '../base/private/private-file.ts';
import type { ListRules, State } from './list-rules.ts';
import { formats, jsonOf, refuseOtherFormat, shaped } from './record-formats.ts';

const version = formats.document;

/** Where a document belongs. */
export interface Place {
  readonly home: string;
  /** The name of the vault that has the secrets. */
  readonly vault: string;
}

/** Which document it is. */
export interface Mark {
  /** One more than that of the newest document that the vault had. */
  readonly number: number;
  /** Random, so that two documents of one number differ. */
  readonly id: string;
}

/** 16 random bytes, base64url. */
export const homeIdSchema = z.string().regex(/^[A-Za-z0-9_-]{22}$/);

const headSchema = z.strictObject({
  version: z.literal(version),
  home: homeIdSchema,
  vault: z.string(),
  number: z.int().positive(),
  id: z.string().min(1),
  /** The ids that the vault may have had when this was written. */
  after: z.array(z.string()),
  records: z.array(z.tuple([z.string(), z.unknown()])),
  mac: z.string(),
});

export interface ReadDocument extends Mark, Place {
  readonly after: readonly string[];
  readonly state: State;
  /** True if this key made the HMAC. */
  isGenuine(key: KeyObject): boolean;
}

/** The line of each record that was written. A record never changes, so only new records are serialized. */
const lines = new WeakMap<object, string>();

export function documentText(
  { home, vault, after, number, id }: Mark & Place & { readonly after: readonly string[] },
  state: State,
  key: KeyObject,
): string {
  const head = JSON.stringify({ version, home, vault, number, id, after });
  const records = [...state].flatMap(([list, items]) => items.map((item) => lineOf(list, item)));
  const covered = `${head.slice(0, -1)},"records":[\n${records.join(',\n')}\n],\n`;
  return `${covered}"mac":"${macOf(covered, key)}"}\n`;
}

function lineOf(list: string, item: unknown): string {
  if (typeof item !== 'object' || item === null) return JSON.stringify([list, item]);
  const known = lines.get(item);
  if (known !== undefined) return known;
  const line = JSON.stringify([list, item]);
  lines.set(item, line);
  return line;
}

/** What the first line says, for what needs it before the vault is open. Not verified. Throws `file_unreadable`. */
export function placeIn(file: string, bytes: Buffer): Place {
  const [first = ''] = bytes.toString('utf8').split('\n', 1);
  const json = jsonOf(file, `${first}]}`);
  refuseOtherFormat(file, json, version);
  return shaped(file, headSchema.pick({ home: true, vault: true }).loose(), json);
}

/** Checks everything but the HMAC. Throws `file_unreadable`, which repeats no value. */
export function readDocument(
  file: string,
  bytes: Buffer,
  lists: ReadonlyMap<string, ListRules>,
): ReadDocument {
  const text = bytes.toString('utf8');
  const json = jsonOf(file, text);
  refuseOtherFormat(file, json, version);
  const { records, mac, version: _, ...head } = shaped(file, headSchema, json);
  const byList = new Map<string, unknown[]>([...lists.keys()].map((list) => [list, []]));
  for (const [list, record] of records) {
    const items = byList.get(list);
    if (!items) throw unreadableFile(file, 'it has records of an unknown kind');
    items.push(record);
  }
  const state = new Map([...byList].map(([list, items]) => [list, checked(file, list, items, lists)]));
  const last = Buffer.from(`"mac":"${mac}"}\n`);
  const covered = bytes.subarray(0, -last.length);
  const isWhole = bytes.subarray(-last.length).equals(last);
  return { ...head, state, isGenuine: (key) => isWhole && constantTimeEqual(mac, macOf(covered, key)) };
}

function checked(
  file: string,
  list: string,
  items: unknown[],
  lists: ReadonlyMap<string, ListRules>,
): readonly unknown[] {
  const { schema = z.unknown(), atMost = Number.POSITIVE_INFINITY } = lists.get(list) ?? {};
  const expected = z.array(schema).max(atMost, `it has more than the ${atMost} records that Keyturn keeps`);
  return shaped(file, z.record(z.string(), expected), { [list]: items })[list] ?? [];
}

/** As text: base64url has several spellings of the same bytes. */
function macOf(covered: string | Buffer, key: KeyObject): string {
  return createHmac('sha256', key).update(covered).digest('base64url');
}
