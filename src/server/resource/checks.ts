/**
 * What the requests of one protected server are checked with, made of its options once.
 *
 * Invariant: an option that can't be used is refused here, before the first request.
 */
import { readServerOptions, type ProtectedServerOptions, type Settings } from './options.ts';
import { FailedTokens } from './requests/failed-tokens.ts';
import { resourceMetadata, type ResourceMetadata } from './requests/metadata.ts';
import { RateLimiter } from './requests/rate-limit.ts';
import { ScopeRules } from './requests/scope-rules.ts';
import { Dpop } from './tokens/dpop.ts';
import type { TokenCheck } from './tokens/token.ts';

export interface Checks {
  readonly settings: Settings;
  readonly metadata: ResourceMetadata;
  readonly scopes: ScopeRules;
  readonly tokens: TokenCheck;
  readonly dpop: Dpop;
  readonly perClient: RateLimiter | undefined;
  readonly perAddress: RateLimiter | undefined;
  readonly failedTokens: FailedTokens;
}

/** Throws invalid_request for an option that can't be used. */
export function makeChecks(options: ProtectedServerOptions): Checks {
  const settings = readServerOptions(options);
  const { resource, dpop, rateLimit, fetch, now } = settings;
  const limiter = (rate: typeof rateLimit.perClient) => (rate ? new RateLimiter(rate, now) : undefined);
  return {
    settings,
    metadata: resourceMetadata(settings),
    scopes: new ScopeRules(settings),
    tokens: settings.tokens.open({
      resource,
      issuers: settings.authorizationServers,
      // One clock: nothing here outlives a change of it by more than the time of a cache. MCP, Communication Security:
      // https, but for a server under development on this machine.
      http: { fetch, now, wall: now, allowInsecureLoopback: settings.isLoopbackHttp },
      onOutage: settings.onEvent,
    }),
    dpop: new Dpop({ ...dpop, maxAgeSeconds: maxProofAge, isRequired: dpop.required, now }),
    perClient: limiter(rateLimit.perClient),
    perAddress: limiter(rateLimit.perAddress),
    failedTokens: new FailedTokens(rateLimit.failedTokens, now),
  };
}

/** Seconds: a proof is made for the request that carries it (RFC 9449 §11.1). */
const maxProofAge = 60;
