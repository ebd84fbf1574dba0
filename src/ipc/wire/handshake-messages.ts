/**
 * The messages before an app is known: hello, authenticate and pair, and the identity that a key file holds.
 *
 * Invariant: nothing from a socket or a key file is used before a guard here has passed it.
 */
import { capabilityPattern } from './capabilities.ts';
import { maxLength, maxListLength } from './limits.ts';
import { isBase64url, isCount, isId, isObject, isText } from './values.ts';

/** The one version of the wire that this release speaks. */
export const protocolVersion = 1;

/** The id under which the owner's key (owner.key) says hello; no app is ever given it. */
export const ownerId = 'owner';

/** First message of a paired app. `nonce`: 32 random bytes, base64url. */
export interface HelloParams {
  readonly versions: readonly number[];
  readonly appId: string;
  readonly nonce: string;
  readonly socketId: string;
  readonly capabilities: readonly string[];
}

/** `nonce` and `proof`: 32 bytes, base64url. */
export interface HelloResult {
  readonly version: number;
  readonly brokerId: string;
  readonly nonce: string;
  readonly capabilities: readonly string[];
  readonly proof: string;
}

export interface AuthenticateParams {
  readonly proof: string;
}

/** First message of an app that has no key yet. */
export interface PairParams {
  readonly versions: readonly number[];
  readonly name: string;
  readonly socketId: string;
  /** SHA-256 of the app's ticket, base64url: the question stays without the app, and the answer for it. */
  readonly ticket?: string;
}

/** Who an app is. `key`: 32 bytes, base64url. Also the content of a key file, as JSON. */
export interface Identity {
  readonly appId: string;
  readonly key: string;
  readonly brokerId: string;
}

function isCapabilities(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length <= maxListLength &&
    value.every((item) => typeof item === 'string' && capabilityPattern.test(item))
  );
}

function isVersions(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.length <= maxListLength && value.every(isCount);
}

export function isHelloParams(value: unknown): value is HelloParams {
  return (
    isObject(value) &&
    isVersions(value['versions']) &&
    isId(value['appId']) &&
    isBase64url(value['nonce'], 32) &&
    isText(value['socketId'], maxLength.account) &&
    isCapabilities(value['capabilities'])
  );
}

export function isHelloResult(value: unknown): value is HelloResult {
  return (
    isObject(value) &&
    isCount(value['version']) &&
    isId(value['brokerId']) &&
    isBase64url(value['nonce'], 32) &&
    isCapabilities(value['capabilities']) &&
    isBase64url(value['proof'], 32)
  );
}

export function isAuthenticateParams(value: unknown): value is AuthenticateParams {
  return isObject(value) && isBase64url(value['proof'], 32);
}

export function isPairParams(value: unknown): value is PairParams {
  return (
    isObject(value) &&
    isVersions(value['versions']) &&
    isText(value['name'], maxLength.account) &&
    isText(value['socketId'], maxLength.account) &&
    (value['ticket'] === undefined || isBase64url(value['ticket'], 32))
  );
}

/** Six digits: short enough to compare by eye, and only one try is ever made with it. */
export function isPairCode(value: unknown): value is { readonly code: string } {
  return isObject(value) && typeof value['code'] === 'string' && /^[0-9]{6}$/.test(value['code']);
}

export function isIdentity(value: unknown): value is Identity {
  return isObject(value) && isId(value['appId']) && isBase64url(value['key'], 32) && isId(value['brokerId']);
}
