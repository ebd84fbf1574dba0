/**
 * The audit log, as schemas of the wire: its rows, and what they come to hour by hour.
 *
 * Invariant: a row names apps, servers and scopes, and has no field for a token.
 */
import * as z from 'zod';

import { instant } from './values.ts';

export const auditRow = z.looseObject({
  time: z.number(),
  event: z.string(),
  outcome: z.string().optional(),
  app: z.string().optional(),
  endpoint: z.string().optional(),
  issuer: z.string().optional(),
  scope: z.array(z.string()).optional(),
  count: instant.optional(),
  fingerprint: z.string().optional(),
});

/** What happened within one hour. `at`: its beginning in milliseconds, as times are in the log. */
export const activeHour = z.object({
  at: z.number(),
  handedOut: instant,
  refused: instant,
  refreshed: instant,
  failed: instant,
});

/** An app that got tokens or API keys for an endpoint: when last (milliseconds), and how many in each hour. */
export const use = z.object({
  app: z.string(),
  endpoint: z.string(),
  last: z.number(),
  handedOut: z.array(instant),
});
