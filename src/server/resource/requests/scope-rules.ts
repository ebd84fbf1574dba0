/**
 * Which scopes a request needs, and what a challenge asks for.
 *
 * Invariant: rules only add. What every request needs stays needed whatever a route or an operation says, so that a
 * spelling that fits two rules needs the scopes of both. Only a stated implication makes one scope stand for another.
 */
import { parseScope, union } from '../../../oauth/base/scope.ts';
import { invalidOption } from '../base/option.ts';
import type { RouteScopes, ScopeLists, Settings } from '../options.ts';
import type { Operation } from './message.ts';

export class ScopeRules {
  readonly #settings: Settings;
  readonly #known: ReadonlySet<string>;

  constructor(settings: Settings) {
    this.#settings = settings;
    const { scopes, operations = {}, routes } = settings;
    const { required, implies, related } = scopes;
    const { tools = {}, resources = {}, prompts = {}, methods = {} } = operations;
    const tables = [tools, resources, prompts, methods, implies, related].flatMap((table) =>
      Object.values(table),
    );
    const all = [
      ...required,
      ...tables.flat(),
      ...routes.flatMap((route) => route.scopes),
      ...Object.keys(implies),
      ...Object.keys(related),
    ];
    for (const scope of all) requireScope(scope);
    this.#known = new Set(all);
  }

  /** What a request for this path needs, whatever it carries. */
  neededFor(method: string, path: string): string[] {
    const { scopes, routes } = this.#settings;
    const plain = plainPath(path);
    const fitting = routes.filter(
      (route) => isForMethod(route, method) && isBelow(plain, plainPath(route.path)),
    );
    return union(scopes.required, ...fitting.map((route) => route.scopes));
  }

  neededBy({ method, tool, resource, prompt }: Operation): string[] {
    const { tools, resources, prompts, methods } = this.#settings.operations ?? {};
    return union(
      entry(methods, method),
      tool === undefined ? [] : entry(tools, tool),
      prompt === undefined ? [] : entry(prompts, prompt),
      resource === undefined ? [] : entriesOfUri(resources, resource),
    );
  }

  /** True if the scopes granted, and what they imply, hold every needed one. */
  isEnough(granted: readonly string[], needed: readonly string[]): boolean {
    // A set yields what is added while it is walked.
    const held = new Set(granted);
    for (const scope of held)
      for (const implied of list(this.#settings.scopes.implies, scope)) held.add(implied);
    return needed.every((scope) => held.has(scope));
  }

  /** The scopes for the challenge of a 403. */
  challenge(granted: readonly string[], needed: readonly string[]): string[] {
    const { strategy, scopes } = this.#settings;
    if (strategy === 'minimal') return [...needed];
    // Of the scopes that the token has, those that this server knows are relevant here.
    const relevant = granted.filter((scope) => this.#known.has(scope));
    const recommended = union(relevant, needed);
    if (strategy === 'recommended') return recommended;
    return union(recommended, ...needed.map((scope) => list(scopes.related, scope)));
  }
}

function requireScope(scope: string): void {
  try {
    if (parseScope(scope).length === 1 && !scope.includes(' ')) return;
  } catch {
    // Told below.
  }
  invalidOption(
    'scopes, operations or routes of protectedServer',
    'it names something that is no scope',
    'A scope is printable ASCII without spaces, quotation marks and backslashes (RFC 6749 §3.3).',
  );
}

function list(table: ScopeLists | undefined, name: string): readonly string[] {
  return table !== undefined && Object.hasOwn(table, name) ? (table[name] ?? []) : [];
}

function entry(table: ScopeLists | undefined, name: string): readonly string[] {
  return table !== undefined && Object.hasOwn(table, name) ? list(table, name) : list(table, '*');
}

/** A handler may read a URI in more than one spelling, so the parsed form and the decoded one count as well. */
function entriesOfUri(table: ScopeLists | undefined, uri: string): string[] {
  const [parsed, plain] = [URL.parse(uri)?.href ?? uri, decodedUri(uri)];
  const fits = (pattern: string): boolean =>
    isOf(pattern, uri) || isOf(pattern, parsed) || isOf(decodedUri(pattern), plain);
  return union(
    ...Object.entries(table ?? {}).flatMap(([pattern, scopes]) => (fits(pattern) ? [scopes] : [])),
  );
}

function isOf(pattern: string, spelling: string): boolean {
  return pattern.endsWith('*') ? spelling.startsWith(pattern.slice(0, -1)) : spelling === pattern;
}

/** RFC 9110 §9.3.2: HEAD is GET without the body of the answer, and routers answer it by the handler of GET. */
function isForMethod(route: RouteScopes, method: string): boolean {
  const [stated, asked] = [route.method?.toUpperCase(), method.toUpperCase()];
  return stated === undefined || stated === asked || (stated === 'GET' && asked === 'HEAD');
}

const encoder = new TextEncoder();
/** Keeps a byte order mark, as `decodeURIComponent` does. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

const percent = 0x25;
/** What an ASCII character is worth as a digit; -1: it is none. */
const hexDigits = Int8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCodePoint(byte), 16);
  return Number.isNaN(value) ? -1 : value;
});
const hexOf = (byte = 0): number => hexDigits[byte] ?? -1;

/**
 * Never throws: a URI may hold a percent sign that begins no escape, and some handlers decode what they can of such a
 * one. Bytes that are not UTF-8 become U+FFFD. In one pass, since a client may send some megabytes of escapes.
 */
function decodedUri(uri: string): string {
  if (!uri.includes('%')) return uri;
  const bytes = encoder.encode(uri);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    const [high, low] = [hexOf(bytes[at + 1]), hexOf(bytes[at + 2])];
    const isEscape = byte === percent && high >= 0 && low >= 0;
    bytes[length] = isEscape ? high * 16 + low : byte;
    length += 1;
    if (isEscape) at += 2;
  }
  return utf8.decode(bytes.subarray(0, length));
}

/** Routers differ in case, doubled slashes and encoded letters. For them all of these are one path. */
function plainPath(path: string): string {
  return decodedUri(path).toLowerCase().replaceAll('\\', '/').replace(/\/+/g, '/').replace(/\/$/, '');
}

function isBelow(path: string, start: string): boolean {
  return path === start || path.startsWith(`${start}/`);
}
