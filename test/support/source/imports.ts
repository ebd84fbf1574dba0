/**
 * What each source file imports, read from its syntax tree.
 *
 * Invariant: nothing is executed or guessed. `import type` is erased by the compiler and marked so;
 * `import { type X }` isn't erased (verbatimModuleSyntax) and counts as an import at run time.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';

export interface Import {
  /** A file's path from the root of the tree, or a package's or Node module's name as written. */
  readonly target: string;
  readonly kind: 'static' | 'type' | 'dynamic';
}

export interface SourceFile {
  readonly text: string;
  readonly imports: readonly Import[];
  /** Names of free-standing identifiers, e.g. `console`. */
  readonly identifiers: ReadonlySet<string>;
  /** Values of string literals. */
  readonly strings: ReadonlySet<string>;
}

/** Files by their path from the root, e.g. `oauth/grants/token.ts`. */
export type Tree = ReadonlyMap<string, SourceFile>;

/** Reads all source files with these endings below a folder. */
export function readTree(folder: string, endings: readonly string[] = ['.ts']): Tree {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => endings.some((ending) => name.endsWith(ending)) && !name.endsWith('.d.ts'))
    .map((name) => name.replaceAll(path.sep, '/'));
  return parseTree(
    Object.fromEntries(names.map((name) => [name, readFileSync(path.join(folder, name), 'utf8')])),
  );
}

/** Parses texts by path. Throws for one that isn't TypeScript. */
export function parseTree(texts: Readonly<Record<string, string>>): Tree {
  return new Map(Object.entries(texts).map(([file, text]) => [file, parseFile(file, text)]));
}

/** Every file and package that loading `file` loads, `file` itself included. */
export function staticClosure(tree: Tree, file: string): Set<string> {
  const reached = new Set([file]);
  // A set yields what is added while it is walked.
  for (const at of reached) {
    for (const { target, kind } of tree.get(at)?.imports ?? []) if (kind === 'static') reached.add(target);
  }
  return reached;
}

/** The first cycle of imports that a walk from each file finds, as `a → b → a`. */
export function importCycles(tree: Tree): string[] {
  const done = new Set<string>();
  const cycles: string[] = [];
  const walk = (file: string, way: readonly string[]): void => {
    const start = way.indexOf(file);
    if (start >= 0) cycles.push([...way.slice(start), file].join(' → '));
    if (start >= 0 || done.has(file)) return;
    // A cycle of types loads nothing, and one closed by `import()` not at once; both are as hard to read as any other.
    for (const { target } of tree.get(file)?.imports ?? []) walk(target, [...way, file]);
    done.add(file);
  };
  for (const file of tree.keys()) walk(file, []);
  return cycles;
}

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

function parseFile(file: string, text: string): SourceFile {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} can't be parsed: ${errors[0]?.message}`);
  const imports: Import[] = [];
  const identifiers = new Set<string>();
  const strings = new Set<string>();
  const found = (source: unknown, kind: Import['kind']): void => {
    const written = isNode(source) && typeof source['value'] === 'string' ? source['value'] : undefined;
    imports.push({ target: written === undefined ? unknownTarget : resolve(file, written), kind });
  };
  visit(program, (node) => {
    if (node.type === 'Identifier') identifiers.add(String(node['name']));
    if (node.type === 'Literal' && typeof node['value'] === 'string') strings.add(node['value']);
    if (node.type === 'ImportExpression') found(node['source'], 'dynamic');
    if (node.type === 'TSImportType') found(node['source'], 'type');
    if (declarations.has(node.type) && isNode(node['source'])) {
      const isType = node['importKind'] === 'type' || node['exportKind'] === 'type';
      found(node['source'], isType ? 'type' : 'static');
    }
  });
  return { text, imports, identifiers, strings };
}

/** Stands for `import(expression)`, whose target only running it would tell. */
export const unknownTarget = '(an expression)';

const declarations = new Set(['ImportDeclaration', 'ExportNamedDeclaration', 'ExportAllDeclaration']);

function visit(value: unknown, look: (node: Node) => void): void {
  if (Array.isArray(value)) for (const item of value) visit(item, look);
  if (!isNode(value)) return;
  look(value);
  for (const child of Object.values(value)) if (typeof child === 'object') visit(child, look);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function resolve(from: string, written: string): string {
  if (!written.startsWith('.')) return written;
  return path.posix.join(path.posix.dirname(from), written);
}
