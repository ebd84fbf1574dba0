/**
 * The owner's methods about API keys: set, list, compare and remove one, and say which apps may have it.
 *
 * Invariants: every string has a maximum length. Only `apiKey.set` and `apiKey.compare` take a value, and no answer here has one.
 */
import * as z from 'zod';
import { maxLength } from '../wire/limits.ts';
import { tokenPattern } from '../wire/values.ts';
import { ownersEnd, ownersList, ownersMayWiden, ownersWiden, type Method } from './method.ts';
import { permission } from './schemas/app-schema.ts';
import { empty, instant, apiKeyHeader, shownName, url } from './schemas/values.ts';

/** A name or an id: ids stay unique, names are what people type. */
const app = shownName;

const apiKeySet = apiKeyHeader.extend({
  resource: url,
  value: z.string().min(1).max(maxLength.key).regex(tokenPattern, 'visible ASCII without spaces'),
  /** Don't ask whether the server offers a sign-in. */
  unchecked: z.literal(true).optional(),
});

const apiKeyListed = apiKeyHeader.extend({
  resource: url,
  setAt: instant,
  unchecked: z.literal(true).optional(),
  /** When the server last rejected it, since the broker started. */
  rejectedAt: instant.optional(),
  /** Names of the apps that may have it. */
  apps: z.array(shownName),
});

/** `replaced`: there was an API key. `permissionsStay`: it had the same header and scheme, so that its apps keep it. */
const apiKeyIsSet = z.object({ replaced: z.boolean(), permissionsStay: z.boolean() });

export const apiKeyMethods = {
  'apiKey.set': { ...ownersWiden, params: apiKeySet, result: apiKeyIsSet },
  'apiKey.list': { ...ownersList, params: empty, result: z.object({ apiKeys: z.array(apiKeyListed) }) },
  /** Whether the API key of this server is this one, under the same header and scheme. */
  'apiKey.compare': {
    who: 'owner',
    effect: 'reads',
    usesRecords: true,
    mayPrompt: true,
    params: apiKeySet.omit({ unchecked: true }),
    result: z.object({ same: z.boolean() }),
  },
  'apiKey.remove': { ...ownersEnd, params: z.object({ resource: url }), result: empty },
  /** As `permission.set`, for the API key of an endpoint, which has neither scopes nor accounts. */
  'apiKey.permission.set': {
    ...ownersMayWiden,
    params: permission.omit({ scope: true }).extend({ app }),
    result: empty,
  },
  'apiKey.permission.revoke': { ...ownersMayWiden, params: z.object({ app, resource: url }), result: empty },
} as const satisfies Record<string, Method>;
