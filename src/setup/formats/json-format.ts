/**
 * Entries of JSON files with comments, changed in place.
 *
 * Invariant: comments, order and white space stay. A member that goes takes its own line along, if nothing else is on
 * it, and one comma.
 */
import {
  createScanner,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  type SyntaxKind,
} from 'jsonc-parser';
import { type Edit, type Format, isMembers, NotUnderstood, type Place } from './edit.ts';

/** `SyntaxKind.CommaToken` of jsonc-parser: a constant enum, which can't be imported by itself. */
const comma: SyntaxKind = 5;

export const jsonFormat: Format = {
  find(text, ways) {
    const root = parsed(text);
    return ways.flatMap((way) => below(root, way, []));
  },

  edit(text, place, { anchor, members }) {
    const entry = parseTree(text.slice(place.from, place.to), [], { allowTrailingComma: true });
    if (!entry) return undefined;
    const properties = new Map(propertiesOf(entry).map((property) => [nameOf(property), property]));
    const first = properties.get(anchor);
    if (!first || properties.size !== propertiesOf(entry).length) return undefined;
    const at = place.from;
    // The line break and the white space before a member, where it begins its line.
    const column = /\r?\n[ \t]*$/.exec(text.slice(0, at + first.offset))?.[0];
    const write = (value: unknown): string => written(value, column);
    const added = Object.entries(members)
      .filter(([name, value]) => value !== undefined && (!properties.has(name) || name === anchor))
      .map(([name, value]) => `${JSON.stringify(name)}: ${write(value)}`);
    const edits: Edit[] = [];
    for (const [name, property] of properties) {
      const [, value] = property.children ?? [];
      if (property === first) {
        const isKept = members[anchor] !== undefined;
        const own = added.find((line) => line.startsWith(`${JSON.stringify(anchor)}:`));
        const rest = added.filter((line) => line !== own);
        const lines = isKept && own !== undefined ? [own, ...rest] : added;
        edits.push(replaced(at, property, lines.join(`,${column ?? ' '}`)));
      } else if (name in members && members[name] === undefined)
        edits.push(removal(text, place, entry, property));
      else if (name in members && value) edits.push(replaced(at, value, write(members[name])));
    }
    // Two members that go can share a comma.
    const ordered = edits.toSorted((a, b) => a.from - b.from);
    return ordered.some(({ from }, index) => from < (ordered[index - 1]?.to ?? 0)) ? undefined : edits;
  },
};

/** Throws `NotUnderstood`. */
function parsed(text: string): Node {
  const errors: ParseError[] = [];
  try {
    const root = parseTree(text, errors, { allowTrailingComma: true });
    if (root && errors.length === 0) return root;
  } catch (error) {
    // Nested deeper than the stack: another program wrote that.
    if (!(error instanceof RangeError)) throw error;
  }
  throw new NotUnderstood(errors[0]?.offset);
}

function below(node: Node, way: readonly string[], passed: readonly string[]): Place[] {
  const [step, ...rest] = way;
  const here = propertiesOf(node).filter(
    (property) => step === undefined || step === '*' || nameOf(property) === step,
  );
  return here.flatMap((property) => {
    const [, value] = property.children ?? [];
    if (value?.type !== 'object') return [];
    const names = [...passed, nameOf(property)];
    if (step !== undefined) return below(value, rest, names);
    const members: unknown = getNodeValue(value);
    if (!isMembers(members)) return [];
    return [{ way: names, from: value.offset, to: value.offset + value.length, members }];
  });
}

const propertiesOf = (node: Node): readonly Node[] => (node.type === 'object' ? (node.children ?? []) : []);
const nameOf = ({ children }: Node): string => String(children?.[0]?.value);

const replaced = (at: number, { offset, length }: Node, text: string): Edit => ({
  from: at + offset,
  to: at + offset + length,
  text,
});

/** In the file's own indentation; on one line where the entry is. */
function written(value: unknown, column: string | undefined): string {
  if (Array.isArray(value)) return `[${value.map((item) => JSON.stringify(item)).join(', ')}]`;
  if (!isMembers(value)) return JSON.stringify(value);
  const pairs = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(name)}: ${JSON.stringify(item)}`,
  );
  if (column === undefined) return `{ ${pairs.join(', ')} }`;
  const deeper = `${column}${column.includes('\t') ? '\t' : '  '}`;
  return `{${pairs.map((pair) => `${deeper}${pair}`).join(',')}${column}}`;
}

/** Of a member with one comma: the one after it, or, of the last one, the one before it. */
function removal(text: string, place: Place, entry: Node, property: Node): Edit {
  const all = propertiesOf(entry);
  const start = place.from + property.offset;
  const end = start + property.length;
  const after = commaFrom(text, end, place.to);
  if (after !== undefined && text.slice(end, after).trim() === '') return wholeLine(text, start, after + 1);
  const before = all[all.indexOf(property) - 1];
  if (after !== undefined || !before) return wholeLine(text, start, end);
  const previous = place.from + before.offset + before.length;
  const separator = commaFrom(text, previous, start);
  // The comma goes, and what stands between it and the member stays.
  const between = separator === undefined ? '' : text.slice(separator + 1, start).trimEnd();
  return { from: separator ?? start, to: end, text: between };
}

function commaFrom(text: string, from: number, to: number): number | undefined {
  const scanner = createScanner(text.slice(from, to), true);
  return scanner.scan() === comma ? from + scanner.getTokenOffset() : undefined;
}

function wholeLine(text: string, from: number, to: number): Edit {
  const before = /(?:^|\n)[ \t]*$/.exec(text.slice(0, from))?.[0];
  const after = /^[ \t]*\r?\n/.exec(text.slice(to))?.[0];
  if (before === undefined || after === undefined) {
    const gap = /^[ \t]*/.exec(text.slice(to))?.[0] ?? '';
    return { from, to: to + gap.length, text: '' };
  }
  return { from: from - before.replace('\n', '').length, to: to + after.length, text: '' };
}
