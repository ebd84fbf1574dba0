/**
 * What the requests of one protected server are checked with, made of its options once.
 *
 * Invariant: an option that can't be used is refused here, before the first request.
 */
import type { Http } from '../../oauth/base/http.ts';
import type { ServerEvent } from './events.ts';
import { readServerOptions } from './options.ts';
import type { ProtectedServerOptions, Settings } from './options.ts';
import { FailedTokens } from './requests/failed-tokens.ts';
import { resourceMetadata } from './requests/metadata.ts';
import type { ResourceMetadata } from './requests/metadata.ts';
import { RateLimiter } from './requests/rate-limit.ts';
import { ScopeRules } from './requests/scope-rules.ts';
import { Dpop } from './tokens/dpop.ts';
import type { TokenCheck } from './tokens/token.ts';

export interface Checks {
  readonly settings: Settings;
  readonly options: ProtectedServerOptions;
  readonly now: () => number;
  readonly metadata: ResourceMetadata;
  readonly scopes: ScopeRules;
  readonly tokens: TokenCheck;
  readonly dpop: Dpop;
  readonly perClient: RateLimiter | undefined;
  readonly perAddress: RateLimiter | undefined;
  readonly failedTokens: FailedTokens;
}

export function tell({ onEvent }: ProtectedServerOptions, event: ServerEvent): void {
  try {
    onEvent?.(event);
  } catch {
    // A log that fails must neither refuse a request nor let one pass.
  }
}

/** Throws invalid_request for an option that can't be used. */
export function makeChecks(options: ProtectedServerOptions): Checks {
  const settings = readServerOptions(options);
  const { resource, scopes, dpop, rateLimit } = settings;
  const now = options.now ?? Date.now;
  const limiter = (rate: typeof rateLimit.perClient) => (rate ? new RateLimiter(rate, now) : undefined);
  const issuers = settings.authorizationServers;
  return {
    settings,
    options,
    now,
    metadata: resourceMetadata({
      resource,
      authorizationServers: issuers,
      scopesSupported: scopes.supported ?? scopes.required,
      dpopAlgorithms: dpop.algorithms,
      isDpopRequired: dpop.required,
      name: settings.name,
      documentation: settings.documentation,
      mountPath: settings.mountPath,
    }),
    scopes: new ScopeRules({ ...settings, ...scopes }),
    tokens: settings.tokens.open({
      resource,
      issuers,
      http: httpOf(options, now),
      onOutage: (outage) => tell(options, outage),
    }),
    dpop: new Dpop({ ...dpop, maxAgeSeconds: maxProofAge, isRequired: dpop.required, now }),
    perClient: limiter(rateLimit.perClient),
    perAddress: limiter(rateLimit.perAddress),
    failedTokens: new FailedTokens(rateLimit.failedTokens, now),
  };
}

/** Seconds: a proof is made for the request that carries it (RFC 9449 §11.1). */
const maxProofAge = 60;

/** One clock: nothing here outlives a change of it by more than the time of a cache. */
function httpOf({ fetch, resource }: ProtectedServerOptions, now: () => number): Http {
  return {
    // Called again each time, and as a function of the platform's own object, as some platforms want it.
    fetch: fetch ?? (async (url: string, init: object) => globalThis.fetch(url, init)),
    now,
    wall: now,
    // Spec, Endpoints: https, but for a server under development on this machine.
    allowInsecureLoopback: URL.parse(resource)?.protocol === 'http:',
  };
}
