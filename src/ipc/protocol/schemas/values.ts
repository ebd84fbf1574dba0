/**
 * The plain values that the wire's schemas are made of.
 *
 * Invariant: every string has a maximum length.
 */
import * as z from 'zod';
import { maxLength } from '../../wire/limits.ts';
import { headerPattern, idPattern, schemePattern } from '../../wire/values.ts';

/** Seconds in a day: nobody needs a token to be valid for longer, or waits longer for one. */
export const day = 24 * 60 * 60;

export const id = z.string().regex(idPattern);
/** An app as lists and cards call it: its name, or `NAME@LABEL` for a forwarded app. */
export const shownName = z.string().regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]{1,300}$/u);
export const url = z.string().min(1).max(maxLength.url);
export const scope = z.string().max(maxLength.scope);
export const account = z.string().max(maxLength.account);
export const state = z.string().min(1).max(maxLength.id);
/** Seconds since 1970. */
export const instant = z.int().nonnegative();
export const count = z.int().nonnegative();
/** Seconds until something ends, however long. */
export const remaining = z.int().nonnegative();
/** A duration in seconds that the caller chooses. */
export const seconds = z.int().nonnegative().max(day);
export const empty = z.object({});

/** An exception from a rule, which the user can add for a server; `private-address` is for a host. */
export const exceptionName = z.literal([
  'issuer-mismatch',
  'no-resource',
  'no-pkce-metadata',
  'audience',
  'private-address',
]);

const header = z.string().regex(headerPattern, 'no name of a header');
const scheme = z.string().regex(schemePattern, 'no scheme');

/** The header that an API key goes in, as cards and lists show it. */
export const apiKeyHeader = z.object({ header, scheme: scheme.optional() });
