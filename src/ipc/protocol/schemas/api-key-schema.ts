/**
 * API keys as schemas of the wire: how the user sets one, and what lists show.
 *
 * Invariants: every text is bounded. Only `apiKey.set` and `apiKey.compare` take a value, and no answer here has one.
 */
import * as z from 'zod';

import { instant, url } from './values.ts';
import { headerPattern, schemePattern, tokenPattern } from '../../wire/values.ts';
import { maxLength } from '../../wire/limits.ts';

const header = z.string().regex(headerPattern, 'no name of a header');
const scheme = z.string().regex(schemePattern, 'no scheme');

/** Where a key goes, as cards and lists show it. */
export const keyPlace = z.object({ header, scheme: scheme.optional() });

export const keySet = keyPlace.extend({
  resource: url,
  value: z.string().min(1).max(maxLength.key).regex(tokenPattern, 'visible ASCII without spaces'),
  /** Don't ask whether the server offers a sign-in. */
  unchecked: z.literal(true).optional(),
});

/** Where a key goes, and the key: what `apiKey.set` would store. */
export const keyCompared = keySet.omit({ unchecked: true });

export const keyListed = keyPlace.extend({
  resource: url,
  setAt: instant,
  unchecked: z.literal(true).optional(),
  /** When the server last rejected it, since the broker started. */
  rejectedAt: instant.optional(),
  /** Names of the apps that may have it. */
  apps: z.array(z.string().max(maxLength.id)),
});

/** `replaced`: there was a key. `permissionsStay`: it had the same header and scheme, so that its apps keep it. */
export const keyIsSet = z.object({ replaced: z.boolean(), permissionsStay: z.boolean() });
