/**
 * WWW-Authenticate: what a protected server says when it refuses (RFC 9110 §11.6.1, RFC 6750 §3).
 *
 * Invariant: the header is a stranger's text. Parsing never throws, takes linear time, and keeps
 * only what is well formed; what is not is skipped up to the next comma.
 */
import { readScope } from './scope.ts';

/** One challenge. Parameter names are in lowercase; the first of two with one name counts. */
export interface Challenge {
  /** Lowercase. */
  readonly scheme: string;
  readonly token68?: string;
  readonly parameters: ReadonlyMap<string, string>;
}

export interface BearerChallenge {
  /** URL of the protected resource metadata as the server wrote it: unchecked (RFC 9728 §5.1). */
  readonly resourceMetadata?: string;
  readonly scope?: readonly string[];
  readonly error?: string;
  readonly errorDescription?: string;
}

/** 16 KiB, what common servers allow for all headers together; a longer one is ignored whole, not cut. */
const longestHeader = 16 * 1024;

const tokenPattern = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/y;
const spacePattern = /[ \t]*/y;
/** RFC 9110 §11.2: token68, and nothing after it but a comma or the end. */
const token68Pattern = /([A-Za-z0-9._~+/-]+=*)[ \t]*(?=,|$)/y;
/** RFC 9110 §5.6.4: a quoted-string. */
const quotedPattern = /"((?:[^"\\]|\\[^])*)"/y;

interface OpenChallenge {
  scheme: string;
  token68?: string;
  parameters: Map<string, string>;
}

interface Cursor {
  readonly text: string;
  at: number;
  readonly challenges: OpenChallenge[];
}

/** Every well-formed challenge of the header, in order. */
export function parseChallenges(header: string): Challenge[] {
  if (header.length > longestHeader) return [];
  const cursor: Cursor = { text: header, at: 0, challenges: [] };
  while (cursor.at < header.length) {
    readItem(cursor);
    skipToComma(cursor);
    cursor.at += 1;
  }
  return cursor.challenges;
}

/** One piece between commas: a parameter of the challenge before it, or the start of another challenge. */
function readItem(cursor: Cursor): void {
  take(cursor, spacePattern);
  const name = take(cursor, tokenPattern);
  if (name === undefined) return;
  const space = take(cursor, spacePattern);
  if (peek(cursor) === '=') {
    readParameterValue(cursor, name);
    return;
  }
  const atEnd = cursor.at >= cursor.text.length || peek(cursor) === ',';
  if (!atEnd && space === '') return;
  const challenge: OpenChallenge = { scheme: name.toLowerCase(), parameters: new Map() };
  cursor.challenges.push(challenge);
  if (atEnd) return;
  const token68 = take(cursor, token68Pattern);
  if (token68 !== undefined) {
    challenge.token68 = token68;
    return;
  }
  const parameter = take(cursor, tokenPattern);
  take(cursor, spacePattern);
  if (parameter !== undefined && peek(cursor) === '=') readParameterValue(cursor, parameter);
}

/** From the "=" on. Kept only if the value is well formed and nothing else stands before the comma. */
function readParameterValue(cursor: Cursor, name: string): void {
  cursor.at += 1;
  take(cursor, spacePattern);
  const text = peek(cursor) === '"' ? unescaped(take(cursor, quotedPattern)) : take(cursor, tokenPattern);
  take(cursor, spacePattern);
  const complete = cursor.at >= cursor.text.length || peek(cursor) === ',';
  const parameters = cursor.challenges.at(-1)?.parameters;
  if (text === undefined || !complete || parameters === undefined) return;
  const key = name.toLowerCase();
  if (!parameters.has(key)) parameters.set(key, text);
}

function unescaped(text: string | undefined): string | undefined {
  return text?.replace(/\\([^])/g, '$1');
}

/** To the next comma outside a quoted-string. An unterminated one swallows the rest, once, so time stays linear. */
function skipToComma(cursor: Cursor): void {
  while (cursor.at < cursor.text.length && peek(cursor) !== ',') {
    if (peek(cursor) !== '"') cursor.at += 1;
    else if (take(cursor, quotedPattern) === undefined) cursor.at = cursor.text.length;
  }
}

function peek(cursor: Cursor): string | undefined {
  return cursor.text[cursor.at];
}

/** What the sticky pattern matches here (its first group, if it has one), or undefined; moves past it. */
function take(cursor: Cursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.at;
  const match = pattern.exec(cursor.text);
  if (match === null) return undefined;
  cursor.at = pattern.lastIndex;
  return match[1] ?? match[0];
}

/** The Bearer challenge of a header: the first that names metadata, else the first. */
export function bearerChallenge(header: string): BearerChallenge | undefined {
  const bearers = parseChallenges(header).filter((challenge) => challenge.scheme === 'bearer');
  const chosen = bearers.find((challenge) => challenge.parameters.has('resource_metadata')) ?? bearers[0];
  if (chosen === undefined) return undefined;
  const { parameters } = chosen;
  const scope = readScope(parameters.get('scope') ?? '');
  return {
    ...present('resourceMetadata', parameters.get('resource_metadata')),
    ...(scope.length === 0 ? {} : { scope }),
    ...present('error', parameters.get('error')),
    ...present('errorDescription', parameters.get('error_description')),
  };
}

function present<Key extends string>(key: Key, text: string | undefined): Partial<Record<Key, string>> {
  const entry: Partial<Record<Key, string>> = {};
  if (text !== undefined && text !== '') entry[key] = text;
  return entry;
}
