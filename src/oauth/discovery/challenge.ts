/**
 * The WWW-Authenticate header with which an MCP server refuses a request (RFC 9110 §11.6.1, RFC 6750 §3).
 *
 * Invariants: the header comes from outside. Reading it never throws and takes linear time. A well-formed challenge
 * is read by the grammar. In a malformed header the parts with a clear meaning are read too. If a header names
 * metadata in a form that can't be read, the result says so, and differs from a challenge that names no metadata.
 */
import { proofAlgorithm } from '../base/proof-algorithm.ts';
import { readScope } from '../base/scope.ts';

export interface BearerChallenge {
  /** The URL of the protected resource metadata as the server wrote it, unchecked (RFC 9728 §5.1). */
  readonly resourceMetadata?: string;
  /** Set if the header names metadata, but its URL can't be read. */
  readonly isUnreadable?: true;
  readonly scope?: readonly string[];
  readonly error?: string;
  readonly errorDescription?: string;
  /** Set if it has a DPoP challenge that takes our proofs and none for Bearer: tokens must be bound to a DPoP key. */
  readonly wantsBoundTokens?: true;
}

/** 16 KiB: common servers allow about as much for all headers. A longer header is not read, and counts as malformed. */
const maxHeaderLength = 16 * 1024;

const tokenPattern = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/y;
const spacePattern = /[ \t]*/y;
/** RFC 9110 §11.2: token68, followed by a comma or the end. */
const token68Pattern = /([A-Za-z0-9._~+/-]+=*)[ \t]*(?=,|$)/y;
/** RFC 9110 §5.6.4: a quoted-string. */
const quotedPattern = /"((?:[^"\\]|\\[^])*)"/y;

/** One challenge. The scheme and parameter names are in lowercase. */
interface Challenge {
  readonly scheme: string;
  token68?: string;
  readonly parameters: Map<string, string>;
}

interface Cursor {
  readonly text: string;
  at: number;
  readonly challenges: Challenge[];
  /** True if a part of the header was not read. */
  isBroken: boolean;
}

/** Every well-formed challenge of the header, in order. */
export function parseChallenges(header: string): Challenge[] {
  return readStrictly(header).challenges;
}

function readStrictly(header: string): Cursor {
  const isTooLong = header.length > maxHeaderLength;
  const cursor: Cursor = { text: isTooLong ? '' : header, at: 0, challenges: [], isBroken: isTooLong };
  while (cursor.at < cursor.text.length) {
    readItem(cursor);
    take(cursor, spacePattern);
    if (!isAtEnd(cursor)) cursor.isBroken = true;
    skipTo(cursor, ',');
    cursor.at += 1;
  }
  return cursor;
}

function isAtEnd(cursor: Cursor): boolean {
  return cursor.at >= cursor.text.length || peek(cursor) === ',';
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
  const atEnd = isAtEnd(cursor);
  if (!atEnd && space === '') return;
  const challenge: Challenge = { scheme: name.toLowerCase(), parameters: new Map() };
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
  else cursor.isBroken = true;
}

/** Reads from the "=" on. Keeps the value only if it is well formed and followed by a comma or the end. */
function readParameterValue(cursor: Cursor, name: string): void {
  cursor.at += 1;
  take(cursor, spacePattern);
  const text = peek(cursor) === '"' ? unescaped(take(cursor, quotedPattern)) : take(cursor, tokenPattern);
  take(cursor, spacePattern);
  const parameters = cursor.challenges.at(-1)?.parameters;
  if (text === undefined || !isAtEnd(cursor) || parameters === undefined) cursor.isBroken = true;
  else keep(parameters, name, text);
}

/**
 * If the name occurs twice, the first value counts. Of the metadata’s URL it is the last: the server’s own code adds it
 * behind that of a library, which knows no paths.
 */
function keep(parameters: Map<string, string>, name: string, text: string): void {
  const key = name.toLowerCase();
  if (key === 'resource_metadata' || !parameters.has(key)) parameters.set(key, text);
}

function unescaped(text: string | undefined): string | undefined {
  return text?.replace(/\\([^])/g, '$1');
}

/** Moves to the next of `ends` outside a quoted-string; to the end after an opening quote without a closing one. */
function skipTo(cursor: Cursor, ends: string): void {
  while (cursor.at < cursor.text.length && !ends.includes(cursor.text.charAt(cursor.at))) {
    if (peek(cursor) !== '"') cursor.at += 1;
    else if (take(cursor, quotedPattern) === undefined) cursor.at = cursor.text.length;
  }
}

function peek(cursor: Cursor): string | undefined {
  return cursor.text[cursor.at];
}

/** The match of the sticky pattern here (its first group, if it has one), or undefined. Moves past the match. */
function take(cursor: Cursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.at;
  const match = pattern.exec(cursor.text);
  if (match === null) return undefined;
  cursor.at = pattern.lastIndex;
  return match[1] ?? match[0];
}

/** Separates the parts of a malformed header: some servers write semicolons, or no comma. */
const separatorPattern = /[ \t,;]+/y;
/** A parameter of a malformed header. A value without quotes may be a URL. */
const loosePattern =
  /([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[^])*)"|([^ \t,;"<>]+))(?=[ \t,;]|$)/y;
const wordPattern = /([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?=[ \t,;]|$)/y;

/** Bearer, and the schemes that servers offer beside it. In a malformed header no comma is needed before them. */
const knownSchemes = new Set(['basic', 'bearer', 'digest', 'dpop', 'gnap', 'negotiate', 'ntlm', 'oauth']);

/** The challenges of a malformed header, with the parameters whose meaning is clear. */
function readLoosely(cursor: Cursor): Challenge[] {
  /** The last parameter, if its value has no quotes. Dropped if another word behind it may belong to the value. */
  let bare: string | undefined;
  while (cursor.at < cursor.text.length) {
    const between = take(cursor, separatorPattern);
    const parameter = takeParameter(cursor);
    const open = cursor.challenges.at(-1)?.parameters;
    const word = parameter ? undefined : take(cursor, wordPattern)?.toLowerCase();
    if (parameter) {
      if (open) keep(open, parameter.name, parameter.text);
      bare = parameter.isBare ? parameter.name.toLowerCase() : undefined;
    } else if (word !== undefined && isScheme(cursor, word, between)) {
      cursor.challenges.push({ scheme: word, parameters: new Map() });
      bare = undefined;
    } else {
      if (bare !== undefined && !/[,;]/.test(between ?? '')) open?.delete(bare);
      if (word === undefined) skipTo(cursor, ' \t,;');
    }
  }
  return cursor.challenges;
}

interface LooseParameter {
  readonly name: string;
  readonly text: string;
  readonly isBare: boolean;
}

function takeParameter(cursor: Cursor): LooseParameter | undefined {
  loosePattern.lastIndex = cursor.at;
  const [, name, quotedText, bareText] = loosePattern.exec(cursor.text) ?? [];
  if (name === undefined) return undefined;
  cursor.at = loosePattern.lastIndex;
  // RFC 9110 §5.6.4 has no single quotes, but their meaning is clear.
  const text = unescaped(quotedText) ?? bareText?.replace(/^'(.*)'$/, '$1') ?? '';
  return { name, text, isBare: quotedText === undefined };
}

/** True for a known scheme, and for a word at the start or after a comma if a parameter follows. */
function isScheme({ text, at }: Cursor, word: string, between: string | undefined): boolean {
  if (knownSchemes.has(word)) return true;
  loosePattern.lastIndex = at + 1;
  return (at === word.length || between?.includes(',') === true) && loosePattern.test(text);
}

/** True if the header names metadata outside of a quoted-string, or has the name itself in quotes. */
function namesMetadata(header: string): boolean {
  if (/(?:^|[ \t,;{])"resource_metadata"[ \t]*[=:]/i.test(header)) return true;
  const cursor: Cursor = { text: header, at: 0, challenges: [], isBroken: true };
  let outside = '';
  while (cursor.at < header.length) {
    const quote = header.indexOf('"', cursor.at);
    outside += header.slice(cursor.at, quote === -1 ? undefined : quote);
    cursor.at = quote === -1 ? header.length : quote;
    // A quote without an end begins no quoted-string, so the rest counts as outside.
    if (quote !== -1 && take(cursor, quotedPattern) === undefined) return /resource_metadata/i.test(header);
  }
  return /resource_metadata/i.test(outside);
}

/**
 * The Bearer and DPoP challenges of a header as one, as their parameters mean the same (RFC 9449 §7.1); without both, one
 * that names metadata (as `Cloudflare-Access`). The first that names metadata comes first, then those of Bearer;
 * parameters that it lacks come from the others.
 */
export function bearerChallenge(header: string): BearerChallenge | undefined {
  const strict = readStrictly(header);
  const found = strict.isBroken
    ? [...strict.challenges, ...readLoosely({ ...strict, at: 0, challenges: [] })]
    : strict.challenges;
  const ofBearer = found.filter(({ scheme }) => scheme === 'bearer');
  const ofDpop = found.filter(({ scheme }) => scheme === 'dpop');
  const naming = found.filter(({ parameters }) => parameters.has('resource_metadata'));
  const ofTokens = [...ofBearer, ...ofDpop];
  const meant = ofTokens.length > 0 ? ofTokens : naming;
  const parameters = merged(meant);
  // `resource_metadata=` without a value has the form of a token68.
  const isDoubtful = strict.isBroken || meant.some(({ token68 }) => token68 !== undefined);
  const isNamed = parameters.has('resource_metadata') || (isDoubtful && namesMetadata(header));
  if (meant.length === 0 && !isNamed) return undefined;
  const resourceMetadata = parameters.get('resource_metadata') || undefined;
  const scope = readScope(parameters.get('scope') ?? '');
  // RFC 9449 §7.1 (algs): without the list we try our algorithm.
  const takesProofs = parameters.get('algs')?.split(' ').includes(proofAlgorithm) ?? true;
  return {
    resourceMetadata,
    isUnreadable: (isNamed && resourceMetadata === undefined) || undefined,
    scope: scope.length === 0 ? undefined : scope,
    error: parameters.get('error') || undefined,
    errorDescription: parameters.get('error_description') || undefined,
    wantsBoundTokens: (ofBearer.length === 0 && ofDpop.length > 0 && takesProofs) || undefined,
  };
}

/** The parameters of the challenge that names metadata come first; missing ones come from the others, in order. */
function merged(challenges: readonly Challenge[]): ReadonlyMap<string, string> {
  const naming = challenges.filter(({ parameters }) => parameters.has('resource_metadata'));
  const all = new Map<string, string>();
  for (const { parameters } of [...naming, ...challenges]) {
    for (const [name, text] of parameters) if (!all.has(name)) all.set(name, text);
  }
  return all;
}
