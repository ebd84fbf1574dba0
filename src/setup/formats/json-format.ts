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
import { type Edit, type Format, isMembers, lineEnd, NotUnderstood, type Place } from './edit.ts';

/** `SyntaxKind.CommaToken` of jsonc-parser: a constant enum, which can't be imported by itself. */
const comma: SyntaxKind = 5;

export const jsonFormat: Format = {
  find(text, keyPaths) {
    const root = parsed(text);
    return keyPaths.flatMap((keyPath) => below(root, keyPath, []));
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
    const goes = (property: Node): boolean =>
      property !== first && nameOf(property) in members && members[nameOf(property)] === undefined;
    const all = propertiesOf(entry);
    const last = all.findLastIndex((property) => !goes(property));
    const ending = removalBehind(text, place, all.slice(last));
    const edits: Edit[] = ending ? [ending] : [];
    for (const [name, property] of properties) {
      const [, value] = property.children ?? [];
      if (property === first) {
        const isKept = members[anchor] !== undefined;
        const own = added.find((line) => line.startsWith(`${JSON.stringify(anchor)}:`));
        const rest = added.filter((line) => line !== own);
        const lines = isKept && own !== undefined ? [own, ...rest] : added;
        edits.push(replaced(at, property, lines.join(`,${column ?? ' '}`)));
      } else if (goes(property)) {
        if (!ending || all.indexOf(property) < last) edits.push(removal(text, place, property));
      } else if (name in members && value) edits.push(replaced(at, value, write(members[name])));
    }
    return edits;
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

function below(node: Node, keyPath: readonly string[], passed: readonly string[]): Place[] {
  const [step, ...rest] = keyPath;
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
    return [{ keyPath: names, from: value.offset, to: value.offset + value.length, members }];
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

/** Of a member with the comma after it. */
function removal(text: string, place: Place, { offset, length }: Node): Edit {
  const from = place.from + offset;
  const end = from + length;
  const separator = commaFrom(text, end, place.to);
  if (separator === undefined) return wholeLine(text, from, end);
  const comment = text.slice(end, separator);
  return comment.trim() === ''
    ? wholeLine(text, from, separator + 1)
    : { from, to: separator + 1, text: comment };
}

/** Of the last members, each with the comma before it. Undefined if none goes, or a comma stands after them. */
function removalBehind(text: string, place: Place, [kept, ...going]: readonly Node[]): Edit | undefined {
  const endOf = ({ offset, length }: Node): number => place.from + offset + length;
  const last = going.at(-1);
  if (!kept || !last || commaFrom(text, endOf(last), place.to) !== undefined) return undefined;
  const comments = going.map((property, index) => {
    const from = endOf(going[index - 1] ?? kept);
    const to = place.from + property.offset;
    const separator = commaFrom(text, from, to) ?? to;
    return `${text.slice(from, separator)}${text.slice(separator + 1, to)}`.trimEnd();
  });
  const [from, to] = [endOf(kept), endOf(last)];
  const behind = /^[ \t]*\r?\n/.exec(text.slice(to))?.[0] ?? 'x';
  // What would be part of a line comment before it goes to a line of its own.
  const between = [...comments, behind].reduce((before, next) => {
    const isInside = /\/\/[^\n]*$/.test(before) && /^[ \t]*[^\s]/.test(next);
    return `${before}${isInside ? lineEnd(text) : ''}${next}`;
  });
  return { from, to, text: between.slice(0, between.length - behind.length) };
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
