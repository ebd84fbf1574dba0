/** The items of the vault that the document of a home names, as read from its file. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { documentName } from '../../../src/store/home-document.ts';

const recordSchema = z.object({
  id: z.string().optional(),
  /** Of a sign-in, and of an API key. */
  item: z.string().optional(),
  earlier: z.array(z.object({ item: z.string() })).optional(),
  /** Of a client. */
  secret: z.string().optional(),
  /** Of the list of names to delete. */
  name: z.string().optional(),
});
const documentSchema = z.object({ records: z.array(z.tuple([z.string(), recordSchema])) });

type NamedRecord = z.infer<typeof recordSchema>;

/** The records of one list; all records without a name. `state`: the home's state folder. */
function recordsIn(state: string, list?: string): NamedRecord[] {
  const text = readFileSync(path.join(state, documentName), 'utf8');
  const { records } = documentSchema.parse(JSON.parse(text));
  return records.filter(([name]) => list === undefined || name === list).map(([, record]) => record);
}

/** By the id of a sign-in, the name of its item. */
export function signInItems(state: string): ReadonlyMap<string, string> {
  return new Map(recordsIn(state, 'signIns').map(({ id = '', item = '' }) => [id, item]));
}

/** All names. */
export function namedItems(state: string): string[] {
  const names = recordsIn(state).flatMap(({ item, earlier = [], secret, name }) => [
    item,
    ...earlier.map((one) => one.item),
    secret,
    name,
  ]);
  return names.filter((name) => name !== undefined && /^[skc]-/.test(name)) as string[];
}
