/**
 * The keys and proofs of the handshake: pure functions of what both ends know (docs/reference/wire-protocol.md names
 * the test vectors).
 *
 * Invariant: the broker proves first, with a key of its own (KB), over a transcript that holds the
 * client's hello to the byte; the client proves with another (KC) over the same and the broker's
 * proof. So no proof can be replayed, reflected, downgraded or carried to another socket.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

/** 32 fresh random bytes, base64url. */
export function newNonce(): string {
  return randomBytes(32).toString('base64url');
}

/** A key of 32 bytes from its base64url text (checked by the caller's guard). */
export function keyFromText(text: string): KeyObject {
  return createSecretKey(text, 'base64url');
}

/**
 * K of one app, from the home's master key M: the broker stores no app's key. `generation` is 1 so far; another one
 * makes another key.
 */
export function deriveAppKey(
  master: KeyObject,
  homeId: string,
  appId: string,
  generation: number,
): KeyObject {
  return derivedOnce(master, `keyturn/1 key\n${homeId}\n${appId}\n${generation}`);
}

/** KB: only the broker proves with it. */
export function brokerKey(key: KeyObject): KeyObject {
  return derivedOnce(key, 'keyturn/1 broker');
}

/** KC: only the client proves with it. */
export function clientKey(key: KeyObject): KeyObject {
  return derivedOnce(key, 'keyturn/1 client');
}

/** Keys that were derived from another, by their text. They are forgotten with the key that they come from. */
const derived = new WeakMap<KeyObject, Map<string, KeyObject>>();

function derivedOnce(from: KeyObject, text: string): KeyObject {
  const known = derived.get(from) ?? new Map<string, KeyObject>();
  derived.set(from, known);
  const key = known.get(text) ?? createSecretKey(hmac(from, text));
  known.set(text, key);
  return key;
}

export interface TranscriptParts {
  /** The client's hello as it crossed the wire, without its line feed. */
  readonly helloLine: Uint8Array;
  readonly version: number;
  readonly brokerId: string;
  /** As it is in the broker's answer: base64url. */
  readonly brokerNonce: string;
  /** The broker's, in the order of its answer. */
  readonly capabilities: readonly string[];
}

/** T, which both proofs are made over. */
export function transcript(parts: TranscriptParts): Buffer {
  const answer = [String(parts.version), parts.brokerId, parts.brokerNonce, parts.capabilities.join(',')];
  return Buffer.concat([Buffer.from('keyturn/1\n'), parts.helloLine, Buffer.from(`\n${answer.join('\n')}`)]);
}

/** HMAC(KB, T), base64url. `key` is K. */
export function brokerProof(key: KeyObject, t: Uint8Array): string {
  return hmac(brokerKey(key), t).toString('base64url');
}

/** HMAC(KC, T LF proofB), base64url; `proofB` as it is in the broker's answer. `key` is K. */
export function clientProof(key: KeyObject, t: Uint8Array, proofB: string): string {
  const proven = Buffer.concat([t, Buffer.from(`\n${proofB}`)]);
  return hmac(clientKey(key), proven).toString('base64url');
}

function hmac(key: KeyObject, data: string | Uint8Array): Buffer {
  return createHmac('sha256', key).update(data).digest();
}
