/**
 * Every secret that the tests' servers and parts issue, and the search for them.
 *
 * Invariant: whatever secret passes an HTTP server of this process is known from then on. A finding names place, kind
 * and form, and never the secret.
 */
import { hear } from './servers/wire-ear.ts';

export type SecretKind =
  | 'access token'
  | 'API key'
  | 'assertion'
  | 'client key'
  | 'client secret'
  | 'code'
  | 'device code'
  | 'ID token'
  | 'owner key'
  | 'passphrase'
  | 'private key'
  | 'refresh token'
  | 'registration access token'
  | 'root key'
  | 'verifier';

export interface Finding {
  readonly place: string;
  readonly kind: SecretKind;
  readonly form: string;
}

/** Fields of requests and answers that hold a secret. `state` is none: it stands in the browser's address. */
const kindOfField: Readonly<Record<string, SecretKind>> = {
  access_token: 'access token',
  refresh_token: 'refresh token',
  id_token: 'ID token',
  code: 'code',
  code_verifier: 'verifier',
  device_code: 'device code',
  client_secret: 'client secret',
  client_assertion: 'assertion',
  assertion: 'assertion',
  subject_token: 'ID token',
  registration_access_token: 'registration access token',
};

/** Shorter values are words of a test ("wrong", "c"), which stand everywhere. */
const shortest = 16;

/** Where each known secret could stand, by its value. */
const known = new Map<string, { readonly kind: SecretKind; readonly needles: readonly Needle[] }>();

interface Needle {
  readonly form: string;
  readonly bytes: Buffer;
}

/** Makes a secret known. Too short a value is no secret. */
export function keepSecret(kind: SecretKind, value: string): void {
  if (value.length < shortest || known.has(value)) return;
  known.set(value, { kind, needles: needlesFor(value) });
}

/** For the next test file of the process. */
export function forgetSecrets(): void {
  known.clear();
}

/** How many are known. */
export function secretsKnown(): number {
  return known.size;
}

/** Every known secret that stands in these bytes, in any form. */
export function secretsIn(place: string, bytes: Buffer | string): Finding[] {
  const text = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  return [...known.values()].flatMap(({ kind, needles }) => {
    const found = needles.find((needle) => text.includes(needle.bytes));
    return found ? [{ place, kind, form: found.form }] : [];
  });
}

/** One line a finding, for an error or a log. */
export function told(findings: readonly Finding[]): string {
  return [...new Set(findings.map(({ place, kind, form }) => `${place}: ${kind} (${form})`))].join('\n');
}

function needlesFor(value: string): Needle[] {
  const raw = Buffer.from(value);
  const forms: [form: string, text: string | Buffer][] = [
    ['raw', raw],
    ['URL-encoded', encodeURIComponent(value)],
    ...hexForms(raw),
    ...base64Forms(raw),
    ...partsOf(value),
  ];
  return forms
    .map(([form, text]) => ({ form, bytes: Buffer.from(text) }))
    .filter(({ bytes }) => bytes.length >= shortest);
}

/** A token by its signature, and random bytes that are written as base64url by the bytes themselves. */
function partsOf(value: string): [string, string | Buffer][] {
  const signature = /^[\w-]+\.[\w-]+\.([\w-]{40,})$/.exec(value)?.[1];
  if (signature !== undefined) return [['its signature', signature]];
  if (!/^[\w-]{22,}$/.test(value)) return [];
  const bytes = Buffer.from(value, 'base64url');
  return [['its bytes', bytes], ...hexForms(bytes), ['base64', bytes.toString('base64').replace(/=+$/, '')]];
}

function hexForms(bytes: Buffer): [string, string][] {
  const hex = bytes.toString('hex');
  return [
    ['hex', hex],
    ['hex', hex.toUpperCase()],
  ];
}

/** base64 of a text in which the secret stands anywhere: its own characters for each of three offsets. */
function base64Forms(raw: Buffer): [string, string][] {
  return [0, 1, 2].flatMap((offset): [string, string][] => {
    const shifted = Buffer.concat([Buffer.alloc(offset), raw]);
    // The first and last characters are shared with neighbours.
    const whole = shifted.subarray(0, shifted.length - (shifted.length % 3)).toString('base64');
    const own = whole.slice(offset === 0 ? 0 : 4);
    return [
      ['base64', own],
      ['base64url', own.replaceAll('+', '-').replaceAll('/', '_')],
    ];
  });
}

/** Learns from a form, a query or a document: whatever its type says, a secret in it counts. */
function learn(text: string): void {
  for (const [name, value] of new URLSearchParams(text)) keepField(name, value);
  try {
    learnJson(JSON.parse(text));
  } catch {
    // Not a document.
  }
}

function learnJson(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (typeof inner === 'string') keepField(name, inner);
    else learnJson(inner);
  }
}

function keepField(name: string, value: string): void {
  if (!Object.hasOwn(kindOfField, name)) return;
  const kind = kindOfField[name];
  if (kind !== undefined) keepSecret(kind, value);
}

function learnAuthorization(header: string): void {
  const [scheme = '', value = ''] = header.split(' ');
  if (/^bearer$/i.test(scheme)) keepSecret('access token', value);
  if (!/^basic$/i.test(scheme)) return;
  // RFC 6749 §2.3.1: both halves are form-encoded first.
  const [, secret = ''] = Buffer.from(value, 'base64').toString().split(':');
  keepSecret('client secret', decodeURIComponent(secret.replaceAll('+', ' ')));
}

hear(({ target, authorization, location, request, response }) => {
  for (const url of [target, location]) if (url.includes('?')) learn(url.slice(url.indexOf('?') + 1));
  learnAuthorization(authorization);
  learn(request);
  learn(response);
});
