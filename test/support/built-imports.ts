/** What each built file imports, read from its syntax tree. Nothing is executed or guessed. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';

export interface Import {
  /** A file's path from the root of the tree, or a package's or Node module's name as written. */
  readonly target: string;
  readonly kind: 'static' | 'dynamic';
}

export interface SourceFile {
  readonly imports: readonly Import[];
}

/** Files by their path from the root, e.g. `oauth/grants/token.js`. */
export type Tree = ReadonlyMap<string, SourceFile>;

/** Reads all modules below a folder. */
export function readTree(folder: string): Tree {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => name.replaceAll(path.sep, '/'));
  return new Map(names.map((name) => [name, parseFile(name, readFileSync(path.join(folder, name), 'utf8'))]));
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

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

function parseFile(file: string, text: string): SourceFile {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} can't be parsed: ${errors[0]?.message}`);
  const imports: Import[] = [];
  const found = (source: unknown, kind: Import['kind']): void => {
    const written = isNode(source) && typeof source['value'] === 'string' ? source['value'] : undefined;
    imports.push({ target: written === undefined ? unknownTarget : resolve(file, written), kind });
  };
  visit(program, (node) => {
    if (node.type === 'ImportExpression') found(node['source'], 'dynamic');
    if (declarations.has(node.type) && isNode(node['source'])) {
      found(node['source'], 'static');
    }
  });
  return { imports };
}

/** Stands for `import(expression)`, whose target only running it would tell. */
const unknownTarget = '(an expression)';

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
