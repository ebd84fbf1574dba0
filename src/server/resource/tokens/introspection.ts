/**
 * Tokens that only their issuer can read (RFC 7662): asked about one by one, the answers kept for a short time.
 *
 * Invariant: a token passes only after an answer `active: true` for this resource. No answer, or one of another form,
 * is never a pass. An answer that is kept ends before the token's `exp`, and a revocation counts at the latest after
 * `cacheSeconds`.
 */
import { z } from 'zod';
import { quotedWithheld } from '../../../base/errors.ts';
import type { HttpReply } from '../../../oauth/base/http.ts';
import { retryAfterSeconds } from '../../../oauth/base/http-time.ts';
import { parseJsonObject } from '../../../oauth/base/json-object.ts';
import { BoundedMap } from '../base/bounded-map.ts';
import { invalidOption, readOptions } from '../base/option.ts';
import { Refusal } from '../base/refusal.ts';
import { remembering } from './checked-tokens.ts';
import {
  audience,
  checkAudience,
  checkTimes,
  confirmation,
  instant,
  thumbprintOf,
  wrongIssuer,
} from './claims.ts';
import { ask } from './introspection-request.ts';
import type { IntrospectionClient } from './introspection-request.ts';
import { names, scopesIn } from './issuer-tokens.ts';
import { keptMetadata } from './issuer-metadata.ts';
import { frozen, problemIn, withoutToken } from './token.ts';
import type { TokenCheck, TokenContext, TokenKind, VerifiedToken } from './token.ts';

export interface IntrospectionOptions {
  /** Who this server is at the authorization server. */
  readonly client: IntrospectionClient;
  /** Where to ask; what the metadata of the authorization server says unless given. */
  readonly endpoint?: string;
  /**
   * How long an active token is not asked about again, and so how late a revocation may count; 30 unless given, 300
   * at most.
   */
  readonly cacheSeconds?: number;
  /** How long a token that isn't active is refused without asking again; 5 unless given. */
  readonly negativeCacheSeconds?: number;
  /** 5 unless given. */
  readonly timeoutSeconds?: number;
  /** Audiences of this server beside its resource. */
  readonly audience?: string | readonly string[];
}

const name = z.string().min(1);

const clientSchema = z.union([
  z.strictObject({
    id: name,
    secret: name,
    method: z.enum(['client_secret_basic', 'client_secret_post']).optional(),
  }),
  z.strictObject({ id: name, privateKey: z.looseObject({ kty: name, alg: name }) }),
]);

const schema = z.strictObject({
  client: clientSchema,
  endpoint: z.url().optional(),
  cacheSeconds: z.number().min(0).max(300).default(30),
  negativeCacheSeconds: z.number().min(0).max(60).default(5),
  timeoutSeconds: z.number().positive().max(30).default(5),
  audience: names.optional(),
});

type Settings = Omit<z.output<typeof schema>, 'client'> & { readonly client: IntrospectionClient };

/** RFC 7662 §2.2. `sub` may be absent where no user is behind the token. */
const answerSchema = z.looseObject({
  iss: z.string().optional(),
  aud: audience.optional(),
  sub: z.union([z.string(), z.int().transform(String)]).optional(),
  username: z.string().optional(),
  client_id: z.string().optional(),
  token_type: z.string().optional(),
  /** What a token is for, at Ory and at Keycloak. */
  token_use: z.string().optional(),
  typ: z.string().optional(),
  exp: instant.optional(),
  nbf: instant.optional(),
  iat: instant.optional(),
  cnf: confirmation.optional(),
});

/** A token that only its authorization server takes, or that tells a client who signed in. */
const otherUse = /^(?:refresh|offline|id)(?:_?token)?$/i;

/** Seconds that the clock of the authorization server may be ahead: it found the token active. */
const clockTolerance = 5;

/** Rejected tokens that are remembered at once; each is a digest. */
const maxInactive = 10_000;

/** Seconds, where the authorization server names no time. */
const retryAfter = 5;

/** Tokens that the one configured authorization server is asked about. Throws invalid_request for a wrong option. */
export function introspection(options: IntrospectionOptions): TokenKind {
  const settings = readOptions(schema, options, 'introspection') as Settings;
  return {
    open(context) {
      // A token doesn't say who issued it, and must not be shown to any other server (RFC 7662 §4).
      const [issuer, ...others] = context.issuers;
      if (issuer === undefined || others.length > 0) {
        invalidOption(
          'authorizationServers of protectedServer',
          'introspection works with one authorization server',
          'Name one, or use jwt().',
        );
      }
      return new Introspection(settings, context, issuer);
    },
  };
}

class Introspection implements TokenCheck {
  readonly #settings: Settings;
  readonly #context: TokenContext;
  readonly #issuer: string;
  readonly #metadata: ReturnType<typeof keptMetadata>;
  readonly #inactive: BoundedMap<true>;
  readonly #remembered: TokenCheck['check'];
  readonly #asking = new Map<string, Promise<VerifiedToken>>();

  constructor(settings: Settings, context: TokenContext, issuer: string) {
    const now = (): number => context.http.wall();
    this.#settings = settings;
    this.#context = context;
    this.#issuer = issuer;
    this.#metadata = keptMetadata(issuer, context.http);
    this.#inactive = new BoundedMap(maxInactive, now);
    this.#remembered = remembering(settings.cacheSeconds, now, async (token, digest) =>
      this.#ask(token, digest),
    );
  }

  /** Requests with one token that come at once share one question, until its answer is remembered. */
  async check(token: string, digest: string): Promise<VerifiedToken> {
    const asking =
      this.#asking.get(digest) ?? this.#remembered(token, digest).finally(() => this.#asking.delete(digest));
    this.#asking.set(digest, asking);
    return asking;
  }

  async #ask(token: string, digest: string): Promise<VerifiedToken> {
    const { http } = this.#context;
    if (this.#inactive.get(digest)) throw new Refusal('token_inactive');
    try {
      return this.#read(await this.#answer(token), token);
    } catch (error) {
      if (error instanceof Refusal && error.reason === 'token_inactive') {
        const until = http.wall() + this.#settings.negativeCacheSeconds * 1000;
        if (until > http.wall()) this.#inactive.set(digest, true, until);
      }
      throw error;
    }
  }

  async #answer(token: string): Promise<Record<string, unknown>> {
    const { http } = this.#context;
    const { client, timeoutSeconds } = this.#settings;
    let reply: HttpReply;
    try {
      const endpoint = await this.#endpoint();
      reply = await ask({ endpoint, issuer: this.#issuer, token, client, timeoutSeconds }, http);
    } catch (error) {
      // Already told.
      if (error instanceof Refusal) throw error;
      throw this.#unavailable(problemIn(error));
    }
    const wait = retryAfterSeconds(reply.headers, http.wall());
    const json = parseJsonObject(reply.text ?? '');
    // RFC 7662 §2.2: REQUIRED. Without it nothing is said of the token.
    const isAnswer = reply.status === 200 && typeof json?.['active'] === 'boolean';
    if (json === undefined || !isAnswer) throw this.#unavailable(problemOf(reply, json), wait);
    return json;
  }

  async #endpoint(): Promise<string> {
    if (this.#settings.endpoint !== undefined) return this.#settings.endpoint;
    const { introspectionEndpoint } = await this.#metadata();
    if (introspectionEndpoint === undefined)
      throw this.#unavailable('metadata without introspection_endpoint');
    return introspectionEndpoint;
  }

  #unavailable(problem: string, wait: number = retryAfter): Refusal {
    const outage = { kind: 'outage', what: 'introspection', isBridged: false } as const;
    this.#context.onOutage({ ...outage, issuer: this.#issuer, problem });
    return new Refusal('introspection_unavailable', { retryAfterSeconds: wait });
  }

  #read(json: Record<string, unknown>, token: string): VerifiedToken {
    // RFC 7662 §2.2: of a token that isn't active nothing else is said, or believed.
    if (json['active'] === false) throw new Refusal('token_inactive');
    const parsed = answerSchema.safeParse(present(json));
    if (!parsed.success) throw new Refusal('token_claims');
    const claims = parsed.data;
    if (claims.iss !== undefined && claims.iss !== this.#issuer)
      throw wrongIssuer(claims.iss === token ? '' : claims.iss, [this.#issuer]);
    // A refresh token is active too, and has no type, or another one.
    if (claims.token_type !== undefined && !/^(?:bearer|dpop|access_token)$/i.test(claims.token_type)) {
      throw new Refusal('token_wrong_type');
    }
    if (otherUse.test(claims.token_use ?? '') || otherUse.test(claims.typ ?? ''))
      throw new Refusal('token_wrong_type');
    // MCP, Token Handling: a token that names no audience was not issued for this server.
    const audiences = [claims.aud ?? []].flat().filter((one) => one !== token);
    checkAudience(audiences, this.#context.resource, this.#settings.audience);
    const now = this.#context.http.wall() / 1000;
    checkTimes({ exp: claims.exp }, now, 0);
    checkTimes({ nbf: claims.nbf, iat: claims.iat }, now, clockTolerance);
    const clientId = claims.client_id;
    // A name is of a user, whom a client must not stand for.
    const subject = claims.sub ?? claims.username ?? clientId;
    if (subject === undefined) throw new Refusal('token_claims');
    return frozen({
      issuer: this.#issuer,
      subject,
      clientId,
      scopes: [...new Set([...scopesIn(json['scope']), ...scopesIn(json['scp'])])],
      // Without an end of its own an answer counts for as long as it is kept.
      expiresAt: claims.exp ?? now + this.#settings.cacheSeconds,
      ...thumbprintOf(claims.cnf),
      claims: withoutToken(json, token),
    });
  }
}

/** Some servers write null or an empty text for what isn't there. */
function present(json: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null && value !== ''));
}

/** What an answer that says nothing of the token is, with the server's own error code. */
function problemOf({ status }: HttpReply, json: Readonly<Record<string, unknown>> | undefined): string {
  const code = typeof json?.['error'] === 'string' ? ` ${quotedWithheld(json['error'])}` : '';
  // RFC 7662 §2.3: 401 means that this server isn't known there.
  if (status !== 200) return `status ${status}${code}`;
  return json === undefined
    ? 'an answer that is no JSON object'
    : `an answer without active${code && `:${code}`}`;
}
