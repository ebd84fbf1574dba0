/**
 * What upstreams do that no metadata says: fixed addresses, parameters that they want, a body of JSON, no PKCE.
 *
 * Invariant: an upstream without PKCE is only one whose form says so. Addresses are below the issuer, and no parameter
 * replaces one that protects the sign-in.
 */
import type { ServerMetadata } from 'openid-client';
import { z } from 'zod';

/** Each member may be left out. */
export interface UpstreamForm {
  /** Paths below the issuer, where the upstream publishes no metadata. */
  readonly paths?: { readonly authorize: string; readonly token: string };
  /** Further parameters of the authorization request. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** How token requests are written; `form` unless given. */
  readonly body?: 'form' | 'json';
  /** Where the client secret is sent if no metadata says so; `basic` unless given. */
  readonly secret?: 'basic' | 'post';
  /** False: the upstream ignores PKCE, and is used all the same. */
  readonly pkce?: boolean;
}

const presets = {
  atlassian: {
    paths: { authorize: '/authorize', token: '/oauth/token' },
    parameters: { audience: 'api.atlassian.com', prompt: 'consent' },
    body: 'json',
    secret: 'post',
    pkce: false,
  },
  github: { paths: { authorize: '/authorize', token: '/access_token' }, secret: 'post' },
  google: { parameters: { access_type: 'offline', prompt: 'consent' } },
  notion: {
    paths: { authorize: '/v1/oauth/authorize', token: '/v1/oauth/token' },
    parameters: { owner: 'user' },
    body: 'json',
    pkce: false,
  },
  slack: { paths: { authorize: '/oauth/v2/authorize', token: '/api/oauth.v2.access' }, pkce: false },
} satisfies Record<string, UpstreamForm>;

export type UpstreamFormName = keyof typeof presets;

const path = z.string().regex(/^\/(?!\/)[\w./-]*$/, 'a path starts with one slash');

/** These are the flow's own. */
const reserved =
  /^(?:client_id|client_secret|code|code_challenge|code_challenge_method|nonce|redirect_uri|request|request_uri|resource|response_mode|response_type|scope|state)$/;

const formSchema = z.strictObject({
  paths: z.strictObject({ authorize: path, token: path }).optional(),
  parameters: z
    .record(z.string().min(1), z.string())
    .refine((given) => !Object.keys(given).some((name) => reserved.test(name)), 'the flow writes that one')
    .default({}),
  body: z.enum(['form', 'json']).default('form'),
  secret: z.enum(['basic', 'post']).default('basic'),
  pkce: z.boolean().default(true),
});

export const upstreamFormSchema = z
  .union([
    z
      .enum(['atlassian', 'github', 'google', 'notion', 'slack'])
      .transform((name): ReadForm => ({ ...formSchema.parse(presets[name]), name })),
    formSchema.transform((form): ReadForm => form),
  ])
  .default(() => formSchema.parse({}));

export type ReadForm = z.output<typeof formSchema> & { readonly name?: UpstreamFormName };

/** The scopes of an answer under each name by which they were asked for. */
export function grantedScopes(scope: string, name: UpstreamFormName | undefined): string {
  const granted = scope.split(' ');
  // Google answers with the long names of these.
  if (name === 'google')
    return [...granted, ...granted.flatMap((each) => /\/auth\/userinfo\.(\w+)$/.exec(each)?.[1] ?? [])].join(
      ' ',
    );
  // "Normalized scopes": GitHub leaves out what a wider scope of the same answer includes.
  return name === 'github' ? [...new Set(granted.flatMap(withNarrower))].join(' ') : scope;
}

/** "Available scopes" of GitHub. */
function withNarrower(scope: string): string[] {
  const [level = '', area] = scope.split(':');
  if (level === 'admin') return [scope, `write:${area}`, `read:${area}`, `manage_runners:${area}`];
  if (level === 'write') return [scope, `read:${area}`];
  return [scope, ...(narrower[scope] ?? [])];
}

const narrower: Readonly<Record<string, readonly string[]>> = {
  codespace: ['codespace:secrets'],
  project: ['read:project'],
  repo: ['repo:status', 'repo_deployment', 'public_repo', 'repo:invite', 'security_events'],
  user: ['read:user', 'user:email', 'user:follow'],
};

/** Undefined: the upstream publishes its metadata. */
export function metadataOf(issuer: string, { paths, secret, pkce }: ReadForm): ServerMetadata | undefined {
  if (paths === undefined) return undefined;
  const base = issuer.replace(/\/$/, '');
  return {
    issuer,
    authorization_endpoint: base + paths.authorize,
    token_endpoint: base + paths.token,
    token_endpoint_auth_methods_supported: [`client_secret_${secret}`],
    ...(pkce ? { code_challenge_methods_supported: ['S256'] } : {}),
  };
}
