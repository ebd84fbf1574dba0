/**
 * The methods by which an app gets, rejects and gives up tokens, lets the user open a URL of its server, and learns how
 * the broker reaches servers.
 *
 * Invariant: every string has a maximum length.
 */
import * as z from 'zod';
import { maxLength } from '../wire/limits.ts';
import { keyValuePattern, methodPattern, noncePattern, proofPattern, tokenPattern } from '../wire/values.ts';
import type { Method } from './method.ts';
import {
  account,
  empty,
  id,
  instant,
  remaining,
  apiKeyHeader,
  scope,
  seconds,
  url,
} from './schemas/values.ts';

const challenge = z.object({
  status: z.literal([401, 403]),
  wwwAuthenticate: z.string().max(maxLength.challenge).optional(),
});

const accessToken = z.string().min(1).max(maxLength.token).regex(tokenPattern);

export const tokenResult = z.object({
  access_token: accessToken,
  token_type: z.string().min(1).max(maxLength.id),
  /** Absent, both: the server stated no lifetime. */
  expires_at: instant.optional(),
  expires_in: remaining.optional(),
  scope,
  resource: url,
  account,
  issuer: url,
  tokenId: id,
});

/** An API key instead of a token. `value` is the whole value of the header, with the scheme. */
export const apiKeyResult = apiKeyHeader.extend({
  kind: z.literal('apiKey'),
  value: z.string().min(1).max(maxLength.token).regex(keyValuePattern),
  resource: url,
  apiKeyId: id,
});

/** Without it, tokens only. */
const kinds = z
  .array(z.literal(['token', 'apiKey']))
  .min(1)
  .max(2)
  .optional();

export const tokenGet = z.object({
  resource: url,
  /** What the app can use. */
  kinds,
  scope: scope.min(1).optional(),
  account: account.optional(),
  minimumValidity: seconds.optional(),
  challenge: challenge.optional(),
  operation: z.string().max(maxLength.operation).optional(),
  interaction: z.literal(['never', 'allow']).optional(),
  timeout: seconds.optional(),
  /** After the timeout the broker goes on with the approval request and the sign-in, for ten minutes. */
  detached: z.boolean().optional(),
});

/** One request of the app. */
export const tokenProve = z.object({
  tokenId: id,
  method: z.string().max(maxLength.httpMethod).regex(methodPattern),
  /** Absolute. Its query doesn't matter, and may be left out. */
  url: url.refine((text) => URL.canParse(text), 'it is no URL'),
  /** What the MCP server wants in the proof (RFC 9449 §9). */
  nonce: z.string().max(maxLength.nonce).regex(noncePattern).optional(),
});

export const tokenReject = z
  .object({
    tokenId: id.optional(),
    access_token: accessToken.optional(),
    apiKeyId: id.optional(),
    status: z.int().min(400).max(599),
    challenge: challenge.optional(),
    operation: z.string().max(maxLength.operation).optional(),
    /** The MCP server accepted this token before. */
    worked: z.boolean().optional(),
  })
  .refine(
    ({ tokenId, access_token, apiKeyId }) =>
      [tokenId, access_token, apiKeyId].filter((named) => named !== undefined).length === 1,
    'exactly one of tokenId, access_token and apiKeyId names what was rejected',
  );

export const tokenRejectResult = z.object({
  rejected: z.boolean(),
  retryAfter: remaining.optional(),
});

/** A URL that the MCP server asks the user to open, with the server's words about it. */
export const urlShow = z.object({
  resource: url,
  url: z.string().min(1).max(maxLength.challenge),
  message: z.string().max(maxLength.sentence).optional(),
});

/** How the broker reaches a server. `authorities`: CA certificates (PEM). `withheld`: the HTTP proxy needs credentials. */
export const networkResult = z.object({
  authorities: z.string().min(1).max(maxLength.authorities).optional(),
  httpsProxy: url.optional(),
  noProxy: z.string().min(1).max(maxLength.setting).optional(),
  proxyCredentials: z.literal('withheld').optional(),
});

export const tokenMethods = {
  'token.get': {
    who: 'app',
    effect: 'asks',
    usesRecords: true,
    params: tokenGet,
    result: z.union([tokenResult, apiKeyResult]),
  },
  /** A proof with the DPoP key that a token of this app is bound to, for one request at or below its endpoint. */
  'token.prove': {
    who: 'app',
    effect: 'reads',
    usesRecords: true,
    params: tokenProve,
    /** The value of the DPoP header. */
    result: z.object({ proof: z.string().max(maxLength.token).regex(proofPattern) }),
  },
  'token.reject': {
    who: 'app',
    effect: 'reduces',
    changesNoList: true,
    params: tokenReject,
    result: tokenRejectResult,
  },
  /** An approval opens a URL in the user's browser. It grants no access. */
  'url.show': {
    who: 'app',
    effect: 'asks',
    usesRecords: true,
    params: urlShow,
    result: z.object({ action: z.literal(['accept', 'decline', 'cancel']) }),
  },
  /** The result holds no secret, and grants no access. */
  'network.get': { who: 'app', effect: 'reads', params: z.object({ resource: url }), result: networkResult },
  'permission.release': {
    who: 'app',
    effect: 'reduces',
    usesRecords: true,
    params: z.object({ resource: url, kinds }),
    result: empty,
  },
} as const satisfies Record<string, Method>;
