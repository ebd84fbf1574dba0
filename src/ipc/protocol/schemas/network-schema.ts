/**
 * The broker's way to servers as a schema of the wire.
 *
 * Invariant: every text is bounded.
 */
import * as z from 'zod';

import { maxLength } from '../../wire/limits.ts';
import { url } from './values.ts';

export const networkGet = z.object({ resource: url });

export const networkResult = z.object({
  authorities: z.string().min(1).max(maxLength.authorities).optional(),
  httpsProxy: url.optional(),
  noProxy: z.string().min(1).max(maxLength.setting).optional(),
  proxyCredentials: z.literal('withheld').optional(),
});
