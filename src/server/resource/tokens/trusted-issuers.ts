/**
 * The issuers whose signed tokens are valid here: each with its keys and the shape of its tokens.
 *
 * Invariant: an issuer is trusted only if the configuration names it, or its function answers for it. Nothing is
 * fetched for any other. Issuers that only the function knows (tenants) are bounded in number, and new ones in a
 * minute.
 */
import { z } from 'zod';
import { requireIssuer } from '../../../oauth/discovery/authorization-server.ts';
import { BoundedMap } from '../base/bounded-map.ts';
import { callable, invalidOption, readOptions } from '../base/option.ts';
import { Refusal } from '../base/refusal.ts';
import { RateLimiter } from '../requests/rate-limit.ts';
import { wrongIssuer } from './claims.ts';
import { issuerTokens, shapeOf, type IssuersOption, type TokenShape } from './issuer-tokens.ts';
import { KeySet } from './key-set.ts';
import type { TokenContext } from './token.ts';

export const issuersOption = z.union([
  callable<Extract<IssuersOption, (issuer: string) => unknown>>(),
  z.record(z.string(), issuerTokens),
]);

export interface TrustedIssuer {
  readonly issuer: string;
  readonly keySet: KeySet;
  readonly shape: TokenShape;
}

interface TrustSettings {
  readonly issuers: z.output<typeof issuersOption>;
  readonly keyOutageSeconds: number;
}

/** Tenants whose keys are kept at once: some megabytes. */
const maxTenants = 1000;
/** A day, in ms, after which a tenant without a token is forgotten. */
const tenantAge = 24 * 60 * 60 * 1000;
/** Anybody may name a tenant that doesn't exist, and each name costs a request to the issuer. */
const newTenants = { requests: 60, seconds: 60 };

export class TrustedIssuers {
  readonly #settings: TrustSettings;
  readonly #context: TokenContext;
  readonly #named: ReadonlyMap<string, TrustedIssuer>;
  /** Of which a token was signed. What strangers name drives none of them out. */
  readonly #tenants: BoundedMap<TrustedIssuer>;
  readonly #unproven: BoundedMap<TrustedIssuer>;
  readonly #newTenants: RateLimiter;

  /** Throws invalid_request for a name that is no issuer. */
  constructor(settings: TrustSettings, context: TokenContext) {
    this.#settings = settings;
    this.#context = context;
    const { issuers } = settings;
    const all = new Set([...context.issuers, ...(typeof issuers === 'function' ? [] : Object.keys(issuers))]);
    for (const issuer of all) {
      const isAuth0 = this.#stated(issuer)?.preset === 'auth0';
      const problem =
        this.#problemOf(issuer) ??
        (isAuth0 && !issuer.endsWith('/') ? 'an issuer of Auth0 ends in a slash' : undefined);
      if (problem !== undefined) {
        invalidOption('issuers of jwt', problem, 'Write each issuer as its own metadata does.');
      }
    }
    this.#named = new Map([...all].map((issuer) => [issuer, this.#trusted(issuer, this.#stated(issuer))]));
    const now = (): number => context.http.now();
    this.#tenants = new BoundedMap(maxTenants, now);
    this.#unproven = new BoundedMap(maxTenants, now);
    this.#newTenants = new RateLimiter(newTenants, now);
  }

  /** Throws a refusal: token_wrong_issuer, keys_unavailable. */
  get(issuer: string): TrustedIssuer {
    const known = this.#named.get(issuer) ?? this.#tenants.get(issuer) ?? this.#unproven.get(issuer);
    if (known !== undefined) return known;
    // The author's function gets nothing but what can be an issuer.
    const tokens = this.#problemOf(issuer) === undefined ? this.#tokensOf(issuer) : undefined;
    if (tokens === undefined) throw wrongIssuer(issuer, [...this.#named.keys()]);
    const wait = this.#newTenants.take('all');
    if (wait !== undefined) throw new Refusal('keys_unavailable', { retryAfterSeconds: wait });
    const trusted = this.#trusted(issuer, tokens);
    this.#unproven.set(issuer, trusted, this.#context.http.now() + tenantAge);
    return trusted;
  }

  /** To be called once a token of this issuer had a good signature. */
  keep(trusted: TrustedIssuer): void {
    const { issuer } = trusted;
    if (this.#named.has(issuer)) return;
    this.#unproven.delete(issuer);
    this.#tenants.set(issuer, trusted, this.#context.http.now() + tenantAge);
  }

  /** What the option says of an issuer. */
  #stated(issuer: string): z.output<typeof issuerTokens> | undefined {
    const { issuers } = this.#settings;
    if (typeof issuers !== 'function') return Object.hasOwn(issuers, issuer) ? issuers[issuer] : undefined;
    const stated = issuers(issuer);
    return stated === undefined ? undefined : readOptions(issuerTokens, stated, 'issuers of jwt');
  }

  /**
   * Entra ID writes its name of version 1 into the tokens for an application that doesn't ask for version 2, at the
   * addresses of version 2 as well.
   */
  #tokensOf(issuer: string): z.output<typeof issuerTokens> | undefined {
    const [, tenant] = /^https:\/\/sts\.windows\.net\/([^/]+)\/$/.exec(issuer) ?? [];
    const newer = tenant && this.#stated(`https://login.microsoftonline.com/${tenant}/v2.0`);
    return this.#stated(issuer) ?? (newer && newer.preset === 'entra' ? newer : undefined);
  }

  #trusted(issuer: string, tokens: z.output<typeof issuerTokens> | undefined): TrustedIssuer {
    const { keyOutageSeconds: outageSeconds } = this.#settings;
    const { http, onOutage, resource } = this.#context;
    return {
      issuer,
      keySet: new KeySet({ issuer, http, onOutage, outageSeconds }),
      shape: shapeOf(tokens, resource),
    };
  }

  /** Undefined: it can be an issuer. */
  #problemOf(issuer: string): string | undefined {
    try {
      requireIssuer(issuer, this.#context.http);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : 'it names no issuer';
    }
  }
}
