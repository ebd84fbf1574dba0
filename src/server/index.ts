/**
 * `@keyturn/server`: what a protected server imports, on any platform with Fetch and WebCrypto.
 *
 * Invariant: nothing behind this file needs Node (test/package.test.ts walks its imports).
 */
import { requireRuntime } from '../base/runtime.ts';
import type { ProtectedServerOptions } from './resource/options.ts';
import { ProtectedServer } from './resource/protected-server.ts';

export { KeyturnError } from '../base/errors.ts';
export type { Access, SdkAuthInfo } from './resource/access.ts';
export type { Answer, Connection, IncomingRequest } from './resource/base/incoming.ts';
export type { RefusalReason } from './resource/base/refusal.ts';
export type { FailureEvent, RequestEvent, ServerEvent } from './resource/events.ts';
export { protect } from './resource/fetch-handler.ts';
export type { FetchHandler, ProtectedHandler } from './resource/fetch-handler.ts';
export type {
  OperationScopes,
  ProtectedServerOptions,
  RouteScopes,
  ScopeStrategy,
  SessionState,
} from './resource/options.ts';
export type { ProtectedServer, Verdict } from './resource/protected-server.ts';
export type { Origins } from './resource/requests/cors.ts';
export type { Limit } from './resource/requests/rate-limit.ts';
export { introspection } from './resource/tokens/introspection.ts';
export type { IntrospectionOptions } from './resource/tokens/introspection.ts';
export type { IntrospectionClient } from './resource/tokens/introspection-request.ts';
export type { Claims, IssuerPreset, IssuersOption, IssuerTokens } from './resource/tokens/issuer-tokens.ts';
export { jwt } from './resource/tokens/jwt.ts';
export type { AsymmetricAlgorithm, JwtOptions } from './resource/tokens/jwt.ts';
export type { Outage, TokenCheck, TokenContext, TokenKind, VerifiedToken } from './resource/tokens/token.ts';
export { upstreamFetch } from './resource/upstream.ts';
export type { Upstream } from './resource/upstream.ts';

/** The checks of one resource. Throws invalid_request, with the option's name, where an option can't be used. */
export function protectedServer(options: ProtectedServerOptions): ProtectedServer {
  requireRuntime('@keyturn/server');
  return new ProtectedServer(options);
}
