/** The plain values that messages consist of, with the guards that every text and number passes. */

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isText(value: unknown, max: number, min = 1): value is string {
  return typeof value === 'string' && value.length >= min && value.length <= max;
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** An identifier: letters, digits, `-` and `_`, so that it can be in a line of its own. */
export const idPattern = /^[A-Za-z0-9_-]{1,64}$/;

/** Visible ASCII: all that may be after `Bearer ` in a header (RFC 6750 §2.1 allows less). */
export const tokenPattern = /^[\x21-\x7e]+$/;

/** RFC 9110 §5.6.2: the name of a header. The bound is well above the names in use. */
export const headerPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;

/** RFC 9110 §11.1: an authentication scheme, such as `Bearer`. */
export const schemePattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/;

/** What is in the header: the key, or the scheme, one space and the key. */
export const keyValuePattern = /^(?:[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32} )?[\x21-\x7e]+$/;

/** RFC 9110 §9.1: an HTTP method. The bound is well above the names in use. */
export const methodPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/;

/** RFC 9449 §8.1 (NQCHAR). */
export const noncePattern = /^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/;

/** A compact JWS (RFC 7515 §7.1). */
export const proofPattern = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export function isId(value: unknown): value is string {
  return typeof value === 'string' && idPattern.test(value);
}

/** `bytes` bytes in base64url without padding, in the one canonical spelling. */
export function isBase64url(value: unknown, bytes: number): value is string {
  if (typeof value !== 'string' || value.length !== Math.ceil((bytes * 4) / 3)) return false;
  return Buffer.from(value, 'base64url').toString('base64url') === value;
}
