/**
 * Keeps the same object for what did not change between two reads.
 *
 * Invariant: the result equals what was read. A row that did not change is the very same object, so that it is not
 * drawn again.
 */

export function shareStructure<T>(before: T | undefined, after: T): T {
  if (before === undefined || before === after) return after;
  if (Array.isArray(before) && Array.isArray(after)) return shareList(before, after) as T;
  if (isRecord(before) && isRecord(after)) return shareRecord(before, after) as T;
  return after;
}

function shareList(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  const known = new Map(before.map((row) => [JSON.stringify(row), row]));
  const rows = after.map((row) => known.get(JSON.stringify(row)) ?? row);
  const isSame = rows.length === before.length && rows.every((row, at) => row === before[at]);
  return isSame ? before : rows;
}

function shareRecord(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const names = Object.keys(after);
  const fields = names.map((name) => [name, shareStructure(before[name], after[name])] as const);
  const isSame =
    names.length === Object.keys(before).length && fields.every(([name, value]) => value === before[name]);
  return isSame ? before : Object.fromEntries(fields);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
