/**
 * What `thirdPartyServer` takes, and the check of it.
 *
 * Invariant: a server with an option that can't be right never starts. Upstream tokens are kept sealed, or nowhere but
 * in memory.
 */
import { z } from 'zod';
import { isLoopbackHost } from '../../base/text/this-machine.ts';
import { canonicalResource } from '../../oauth/base/resource.ts';
import { requireSecureUrl } from '../../oauth/base/secure-url.ts';
import type {
  AuthorizationEvent,
  AuthorizationServerOptions,
  ResourceOptions,
} from '../authorization/options.ts';
import { callable, invalidOption, readOption, readOptions } from '../resource/base/option.ts';
import { unnamedStorage } from '../storage/memory.ts';
import { upstreamFormSchema, type UpstreamForm, type UpstreamFormName } from './upstream-forms.ts';

/** The authorization server that people sign in at, and this server's registration there. */
export interface UpstreamOptions {
  /** Its issuer identifier, exactly as its metadata has it. */
  readonly issuer: string;
  readonly clientId: string;
  /** None for a public client. */
  readonly clientSecret?: string;
  /** The upstream API: sent as `resource` (RFC 8707), and the only place that gets an upstream token. */
  readonly resource: string;
  /** False: `resource` is left out, for servers that refuse it; true unless `form` is given. */
  readonly sendsResource?: boolean;
  /** For each scope here the scopes there that it needs: `{'notes:read': ['read']}`. */
  readonly scopes: Readonly<Record<string, readonly string[]>>;
  /** Asked for each time, such as `openid` and `offline_access`. */
  readonly extraScopes?: readonly string[];
  /**
   * Who signed in, where the upstream issues no ID token: a name that never changes hands there. Gets a fetch that
   * sends the upstream token to `resource` only.
   */
  readonly subjectOf?: (fetch: typeof globalThis.fetch) => Promise<string>;
  /** Further authorities for requests to it, as PEM. */
  readonly authorities?: string;
  /** What this upstream does that no metadata says: a name, or how it differs. No `resource` is sent then. */
  readonly form?: UpstreamFormName | UpstreamForm;
}

export interface SessionOptions {
  /** Seconds without a request after which a session ends; 8 hours unless given. */
  readonly idle?: number;
  /** Seconds after which a session ends, whatever happened in it; 30 days unless given. */
  readonly absolute?: number;
  /** Seconds of a token of this server; 300 unless given, 3600 at most. */
  readonly accessToken?: number;
  /** Seconds in which an upstream token that was found good isn't introspected again; 60 unless given, and at most. */
  readonly status?: number;
  /** The same where the upstream offers no introspection, so that a renewal decides; 300 unless given. */
  readonly renewal?: number;
  /** Seconds that a session goes on while the upstream can't say how its token stands; 60 unless given. */
  readonly outage?: number;
}

export interface ThirdPartyOptions extends Omit<
  AuthorizationServerOptions,
  'accounts' | 'resources' | 'assertionProviders' | 'lifetimes' | 'onEvent'
> {
  readonly resource: ResourceOptions;
  readonly upstream: UpstreamOptions;
  readonly session?: SessionOptions;
  readonly onEvent?: (event: AuthorizationEvent | SessionEvent) => void;
}

/** What an upstream server said when a token was revoked there. */
export type Receipt = 'confirmed' | 'pending' | 'notOffered' | 'abandoned';

/** What happened to a session; holds no token. */
export interface SessionEvent {
  readonly kind:
    | 'session_started'
    | 'session_renewed'
    | 'session_ended'
    | 'upstream_unavailable'
    | 'upstream_revoked';
  /** Absent in `upstream_revoked`: of tokens that never had a session. */
  readonly session?: string | undefined;
  /** Why a session ended. */
  readonly why?: 'revoked' | 'idle' | 'too_old' | 'upstream_ended' | 'upstream_narrowed';
  readonly receipt?: Receipt;
  /** Why the upstream failed, for `upstream_unavailable`. */
  readonly problem?: string;
}

const seconds = z.int().positive();
const scopes = z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope has no space'));

const upstreamSchema = z.strictObject({
  issuer: z.string(),
  clientId: z.string().min(1),
  clientSecret: z.string().min(1).optional(),
  resource: z.string(),
  sendsResource: z.boolean().optional(),
  scopes: z.record(z.string(), scopes),
  extraScopes: scopes.default([]),
  subjectOf: callable<NonNullable<UpstreamOptions['subjectOf']>>().optional(),
  authorities: z.string().optional(),
  form: upstreamFormSchema,
});

const sessionSchema = z
  .strictObject({
    idle: seconds.default(8 * 60 * 60),
    absolute: seconds.default(30 * 24 * 60 * 60),
    accessToken: seconds.max(3600, 'an access token lives an hour at most').default(300),
    status: seconds.max(60, 'a status counts for 60 seconds at most').default(60),
    renewal: seconds.default(300),
    outage: z.int().nonnegative().max(3600).default(60),
  })
  .prefault({});

export type Upstream = z.output<typeof upstreamSchema> & { readonly sendsResource: boolean };
export type SessionTimes = z.output<typeof sessionSchema>;

export interface ThirdPartySettings {
  readonly upstream: Upstream;
  readonly times: SessionTimes;
}

/** Throws invalid_request with the option's name and what to write. The rest is checked by `authorizationServer`. */
export function readThirdPartyOptions(options: ThirdPartyOptions): ThirdPartySettings {
  const schema = z.object({ upstream: upstreamSchema, session: sessionSchema });
  const { upstream, session } = readOptions(schema, options, 'thirdPartyServer', entry);
  const https = { allowInsecureLoopback: false };
  readOption('upstream.issuer of thirdPartyServer', hint, () =>
    requireSecureUrl(upstream.issuer, 'the issuer', https),
  );
  readOption('upstream.resource of thirdPartyServer', hint, () =>
    canonicalResource(upstream.resource, https),
  );
  const unmapped = Object.keys(options.resource.scopes).find(
    (scope) => !Object.hasOwn(upstream.scopes, scope),
  );
  if (unmapped !== undefined)
    invalid('upstream.scopes', 'it must name each scope of `resource.scopes`, with what that needs upstream');
  if (!upstream.extraScopes.includes('openid') && upstream.subjectOf === undefined)
    invalid('upstream.subjectOf', 'without `openid` in `extraScopes` nothing else says who signed in');
  const host = URL.canParse(options.issuer) ? new URL(options.issuer).hostname : '';
  if (options.storage === undefined && host !== '' && !isLoopbackHost(host))
    invalid('storage', unnamedStorage);
  // MCP 2025-03-26, Third-Party Authorization Flow.
  if (options.storage?.atRest === 'readable') {
    invalid(
      'storage',
      'anyone who reads it would have the upstream tokens. Write sealedStorage(storage, [{ id, key }]), with 32 random bytes as the key',
    );
  }
  const { sendsResource = options.upstream.form === undefined } = upstream;
  return { upstream: { ...upstream, sendsResource }, times: session };
}

const entry = '@keyturn/server/third-party';
const hint = `The types of ${entry} describe each option.`;

function invalid(name: string, problem: string): never {
  return invalidOption(`${name} of thirdPartyServer`, problem, hint);
}
