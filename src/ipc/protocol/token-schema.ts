/**
 * Tokens as schemas of the wire: how a local client asks for one, gets it and rejects it.
 *
 * Invariant: every text is bounded.
 */
import * as z from 'zod';

import { account, id, instant, scope, seconds, url } from './values.ts';
import { maxLength } from '../wire/limits.ts';
import { tokenPattern } from '../wire/values.ts';

const challenge = z.object({
  status: z.literal([401, 403]),
  wwwAuthenticate: z.string().max(maxLength.challenge).optional(),
});

const accessToken = z.string().min(1).max(maxLength.token).regex(tokenPattern);

export const tokenResult = z.object({
  access_token: accessToken,
  token_type: z.string().min(1).max(maxLength.id),
  expires_at: instant,
  expires_in: instant,
  scope,
  resource: url,
  account,
  issuer: url,
  tokenId: id,
});

export const tokenGet = z.object({
  resource: url,
  scope: scope.min(1).optional(),
  account: account.optional(),
  minimumValidity: seconds.optional(),
  challenge: challenge.optional(),
  operation: z.string().max(maxLength.operation).optional(),
  interaction: z.literal(['never', 'allow']).optional(),
  timeout: seconds.optional(),
  /** From the broker's own proxy only: the process behind it. */
  process: z.object({ pid: z.int().positive(), startTicks: z.string().max(maxLength.id) }).optional(),
});

export const tokenReject = z
  .object({
    tokenId: id.optional(),
    access_token: accessToken.optional(),
    status: z.int().min(400).max(599),
    challenge: challenge.optional(),
    operation: z.string().max(maxLength.operation).optional(),
    /** The protected server took this very token before. */
    worked: z.boolean().optional(),
  })
  .refine(
    (params) => (params.tokenId === undefined) !== (params.access_token === undefined),
    'exactly one of tokenId and access_token names the refused token',
  );

export const tokenRejectResult = z.object({
  rejected: z.boolean(),
  token: tokenResult.optional(),
  retryAfter: seconds.optional(),
});
