/**
 * The device authorization grant (RFC 8628): the start, and one poll for the tokens.
 *
 * Invariant: a poll returns the tokens, or says when to poll again, or ends the sign-in. A temporary failure of the
 * server never ends it. The caller waits between polls.
 */
import { initiateDeviceAuthorization } from 'openid-client';
import { z } from 'zod';
import { KeyturnError, quoted, RuleRefusal, shellWord, Unreachable } from '../../base/errors.ts';
import { deviceGrant, type TokenServer } from '../discovery/authorization-server.ts';
import { isSuccess, isTransient, unreachableReply, type Http, type HttpReply } from '../base/http.ts';
import { clientConfiguration, libraryRefusal } from '../client/oauth-client.ts';
import { responseFields, shownRefusal, oauthError, shownError } from '../base/oauth-error.ts';
import { resourceParameter } from '../base/exceptions.ts';
import { scopeParameter } from '../base/scope.ts';
import { requireSecureUrl } from '../base/secure-url.ts';
import type { GrantRequest, TokenResponse } from './token-response.ts';
import { grantFailure } from './token-failure.ts';
import { requestToken, tokensOf } from './token-request.ts';

const again = 'Start the sign-in again: keyturn login URL --device';

/** A sign-in that waits for the user. It contains a secret, so it is kept in memory only and never logged. */
export interface DeviceAuthorization {
  readonly deviceCode: string;
  /** Shown to the user only; printable ASCII, 64 characters at most. */
  readonly userCode: string;
  /** https, or http on an allowed loopback host. */
  readonly verificationUri: string;
  /** The same with the code in it, for a QR code. */
  readonly verificationUriComplete?: string;
  /** Milliseconds, steady. */
  readonly expiresAt: number;
  /** Seconds to wait before the first poll. */
  readonly interval: number;
}

export type PollResult =
  | { readonly kind: 'granted'; readonly answer: TokenResponse }
  | {
      readonly kind: 'waiting';
      /** Seconds to wait before the next poll. Pass it to that poll. */
      readonly interval: number;
    };

/** RFC 8628 §3.2: 5 s if the server names no interval. */
const defaultInterval = 5;

/** RFC 8628 §3.5: slow_down adds 5 s to this wait and all later ones. */
const slowDownStep = 5;

/** 5 minutes, in seconds: with more, a user who has already signed in would wait too long. */
const maxInterval = 300;

/** 10 minutes, in seconds, for a server that names no lifetime. */
const defaultLifetime = 600;

/** An hour, in seconds. After that, the user no longer expects the sign-in. */
const maxLifetime = 3600;

/** RFC 8628 §6.1 suggests 8 letters; nobody would type more than 64 characters. */
const userCodeForm = /^[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?$/;

/** RFC 8628 §3.2. Some servers keep the names of an earlier draft, `verification_url`. */
const responseSchema = z.object({
  device_code: z.string().min(1),
  user_code: z.string().regex(userCodeForm),
  verification_uri: z.string(),
  verification_uri_complete: z.string().nullish(),
  expires_in: z.coerce.number().positive().catch(defaultLifetime),
  interval: z.coerce.number().positive().catch(defaultInterval),
});

/** RFC 8628 §3.1. Throws as `requestClientCredentials`, metadata_invalid (no such endpoint), and insecure_url. */
export async function startDeviceAuthorization(
  request: GrantRequest,
  http: Http,
): Promise<DeviceAuthorization> {
  const { server, resource, scope, exceptions } = request;
  const url = requireDeviceEndpoint(server);
  const answered: { authorization?: DeviceAuthorization } = {};
  const processReply = (reply: HttpReply): Response => {
    const fields = readResponse(request, url, reply, http);
    answered.authorization = processResponse(fields, http);
    return Response.json({ ...fields, verification_uri_complete: undefined });
  };
  try {
    const config = clientConfiguration(request, http, {
      what: 'the device authorization endpoint',
      processReply,
    });
    await initiateDeviceAuthorization(config, {
      ...resourceParameter(resource, exceptions),
      ...scopeParameter(scope),
    });
  } catch (error) {
    throw libraryRefusal(error, server);
  }
  if (answered.authorization !== undefined) return answered.authorization;
  throw new TypeError('a device authorization ended without an answer and without a refusal');
}

type DeviceAuthorizationResponse = z.infer<typeof responseSchema>;

function readResponse(
  { server, scope = [] }: GrantRequest,
  url: string,
  reply: HttpReply,
  http: Http,
): DeviceAuthorizationResponse {
  const error = oauthError(reply);
  const fields = responseFields(reply);
  const { verification_url: url_, verification_url_complete: completeUrl } = fields ?? {};
  const parsed = responseSchema.safeParse({
    verification_uri: url_,
    verification_uri_complete: completeUrl,
    ...fields,
  });
  if (isSuccess(reply.status) && parsed.success) return parsed.data;
  if (error !== undefined && !isTransient(reply.status))
    throw grantFailure(again, scope.length > 0)(server, reply, http);
  if (isSuccess(reply.status) && fields !== undefined) {
    throw new RuleRefusal(
      'login_failed',
      `The answer of ${quoted(server.issuer)} names no usable code and page to sign in with.`,
      { rule: 'RFC 8628 §3.2', hint: 'The authorization server is set up wrongly. Tell its operator.' },
    );
  }
  const endpoint = { url, what: 'the device authorization endpoint' };
  const problem = `answered with ${shownRefusal(reply)}`;
  throw unreachableReply(http, reply, endpoint, 'authorization_server_unreachable', problem);
}

function processResponse(answer: DeviceAuthorizationResponse, http: Http): DeviceAuthorization {
  const complete = answer.verification_uri_complete;
  for (const uri of [answer.verification_uri, ...(complete ? [complete] : [])]) {
    requireSecureUrl(uri, 'the page to sign in on another device', http);
  }
  return {
    deviceCode: answer.device_code,
    userCode: answer.user_code,
    verificationUri: answer.verification_uri,
    ...(complete ? { verificationUriComplete: complete } : {}),
    expiresAt: http.now() + Math.min(answer.expires_in, maxLifetime) * 1000,
    interval: bounded(answer.interval),
  };
}

/** At least a second, since an interval of 0 would poll without a pause. */
function bounded(interval: number): number {
  return Math.min(Math.max(Math.ceil(interval), 1), maxInterval);
}

/**
 * RFC 8628 §3.4, §3.5: one poll. The caller waits `interval` seconds before each. A temporary failure is `waiting`.
 * Throws login_failed (expired), access_denied, client_rejected, scope_insufficient, resource_mismatch, token_invalid,
 * audience_mismatch.
 */
export async function pollDeviceAuthorization(
  authorization: DeviceAuthorization,
  interval: number,
  request: GrantRequest,
  http: Http,
): Promise<PollResult> {
  const { server, resource } = request;
  const requestedAt = http.now();
  if (requestedAt >= authorization.expiresAt) throw expired(server);
  const seen: { error?: string } = {};
  const outcome = await requestToken(request, http, {
    grantType: deviceGrant,
    parameters: {
      device_code: authorization.deviceCode,
      ...resourceParameter(resource, request.exceptions),
    },
    failure: (_server, reply) => {
      const error = oauthError(reply);
      if (error !== undefined && !isTransient(reply.status)) seen.error = error.code;
      return pollFailure(server, reply, http);
    },
    dpopKey: request.dpopKey,
    needsIdToken: request.exceptions?.needsIdToken,
  });
  if (seen.error === 'authorization_pending') return { kind: 'waiting', interval };
  if (seen.error === 'slow_down') return { kind: 'waiting', interval: bounded(interval + slowDownStep) };
  const { refusal } = outcome;
  // RFC 8628 §3.5: after a time-out poll half as often; Retry-After counts too.
  if (refusal instanceof Unreachable)
    return { kind: 'waiting', interval: bounded(Math.max(interval * 2, refusal.retryAfter ?? 0)) };
  return { kind: 'granted', answer: tokensOf(outcome, { ...request, requestedAt }, http) };
}

function pollFailure(server: TokenServer, reply: HttpReply, http: Http): KeyturnError {
  const error = oauthError(reply);
  if (error?.code === 'expired_token' && !isTransient(reply.status)) return expired(server);
  if (error?.code === 'access_denied' && !isTransient(reply.status)) {
    const message = `The sign-in was denied at ${quoted(server.issuer)}: ${shownError(error)}.`;
    return new KeyturnError('access_denied', message, {
      rule: 'RFC 8628 §3.5',
      hint: 'Start it again and allow it there, or ask the operator of the server for access.',
    });
  }
  return grantFailure(again)(server, reply, http);
}

function expired(server: TokenServer): KeyturnError {
  return new KeyturnError('login_failed', `The code for ${quoted(server.issuer)} has expired.`, {
    rule: 'RFC 8628 §3.5 (expired_token)',
    hint: again,
  });
}

/** Throws metadata_invalid for a server that has no device authorization endpoint. `url`: for the hint. */
export function requireDeviceEndpoint(server: TokenServer, url = 'URL'): string {
  if (server.deviceAuthorizationEndpoint !== undefined) return server.deviceAuthorizationEndpoint;
  throw new KeyturnError(
    'metadata_invalid',
    `${quoted(server.issuer)} offers no sign-in on another device.`,
    {
      rule: 'RFC 8628 §4 (device_authorization_endpoint)',
      hint: `Sign in with a browser, or paste the redirect URL back: keyturn login ${shellWord(url)} --paste`,
    },
  );
}
