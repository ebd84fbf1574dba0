/** The owner's methods about API keys: setting one, what there is, its end, and which apps may have it. */
import * as z from 'zod';

import { ownersEnd } from './method.ts';
import type { Method } from './method.ts';
import { permission } from './schemas/app-schema.ts';
import { keyCompared, keyIsSet, keyListed, keySet } from './schemas/api-key-schema.ts';
import { empty, shownName, url } from './schemas/values.ts';

/** A name or an id: ids stay unique, names are what people type. */
const app = shownName;

export const apiKeyMethods = {
  'apiKey.set': {
    who: 'owner',
    effect: 'widens',
    usesRecords: true,
    params: keySet,
    result: keyIsSet,
  },
  'apiKey.list': {
    who: 'owner',
    effect: 'reads',
    showsRecords: true,
    isPolled: true,
    params: empty,
    result: z.object({ apiKeys: z.array(keyListed) }),
  },
  /** Whether the key of this server is this one, under the same header and scheme. */
  'apiKey.compare': {
    who: 'owner',
    effect: 'reads',
    usesRecords: true,
    mayPrompt: true,
    params: keyCompared,
    result: z.object({ same: z.boolean() }),
  },
  'apiKey.remove': {
    ...ownersEnd,
    params: z.object({ resource: url }),
    result: empty,
  },
  /** As `permission.set`, for the API key of an endpoint: a key has neither scopes nor accounts. */
  'apiKey.permission.set': {
    who: 'owner',
    effect: 'mayWiden',
    usesRecords: true,
    params: permission.omit({ scope: true }).extend({ app }),
    result: empty,
  },
  'apiKey.permission.revoke': {
    who: 'owner',
    effect: 'mayWiden',
    usesRecords: true,
    params: z.object({ app, resource: url }),
    result: empty,
  },
} as const satisfies Record<string, Method>;
