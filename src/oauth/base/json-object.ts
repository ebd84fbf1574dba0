/**
 * A JSON object in a text that a server wrote.
 *
 * Invariant: never throws. Anything but an object is undefined.
 */
import type { JsonObject } from 'openid-client';

/** The object that `text` holds, or undefined if it holds anything else. */
export function parseJsonObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  // JSON.parse returns JSON values only, so an object from it is a JsonObject.
  return isObject(value) ? (value as JsonObject) : undefined;
}

/** The value that `text` holds; undefined if it holds no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
