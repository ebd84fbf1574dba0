/**
 * A JSON object in a text that a server wrote.
 *
 * Invariant: never throws. Anything but an object is undefined.
 */
import type { JsonObject } from 'openid-client';
import { parseJson } from '../../base/text/json.ts';

export function parseJsonObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  // JSON.parse returns JSON values only, so an object from it is a JsonObject.
  return isObject(value) ? (value as JsonObject) : undefined;
}

/** The object in one part of a JWT, whose signature isn't checked. */
export function jwtPart(part = ''): JsonObject | undefined {
  return parseJsonObject(Buffer.from(part, 'base64url').toString());
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
