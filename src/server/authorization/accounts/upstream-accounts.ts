/**
 * Accounts of people who sign in at an OpenID provider.
 *
 * Invariant: an account is the provider's issuer and subject, never an e-mail address or a name, which may change
 * hands. An ID token is valid for the one request that it answers: state, `iss`, nonce, audience, times and signature were
 * checked, and the code was bound to a verifier (PKCE). It is accepted once, and only in the browser that was sent there. Nothing
 * that the provider or the address says of an error is shown.
 */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import * as openid from 'openid-client';
import { z } from 'zod';
import { requireSecureUrl } from '../../../oauth/base/secure-url.ts';
import { callable, readValue } from '../../resource/base/option.ts';
import { invalidOption, readOption } from '../base/invalid-option.ts';
import { errorPage, pageHeaders, tryAgainPage } from '../base/pages.ts';
import type { Accounts, SignInResult, SignInStep } from './accounts.ts';
import { upstreamConfiguration, upstreamProblem, type UpstreamConfiguration } from './upstream-client.ts';

export interface UpstreamAccountsOptions {
  /** The provider's issuer identifier, exactly as its metadata has it: an https URL. */
  readonly issuer: string;
  readonly clientId: string;
  /** None for a public client. */
  readonly clientSecret?: string;
  /** `openid` unless given; `openid profile` brings a name for the consent page. */
  readonly scope?: string;
  /** False refuses the user. Everybody who has an account at the provider may sign in unless given. */
  readonly mayUse?: (claims: Readonly<Record<string, unknown>>) => boolean | Promise<boolean>;
  /** Further authorities for requests to the provider, as PEM. */
  readonly authorities?: string;
}

const schema = z.strictObject({
  issuer: z.string(),
  clientId: z.string().min(1),
  clientSecret: z.string().min(1).optional(),
  scope: z
    .string()
    .refine((scope) => scope.split(' ').includes('openid'), 'it must have openid')
    .default('openid'),
  mayUse: callable<NonNullable<UpstreamAccountsOptions['mayUse']>>().optional(),
  authorities: z.string().optional(),
});

/** Below the issuer. */
const callbackPath = '/login/callback';

const startedSchema = z.object({ state: z.string(), nonce: z.string(), verifier: z.string() });

/** OpenID Connect Core §2: at most 255 ASCII characters. */
export const subjectSchema = z.string().regex(/^[\x20-\x7e]{1,255}$/);

/**
 * Register `<your issuer>/login/callback` as the redirect URI at the provider. Throws invalid_request where an option
 * can't be right.
 */
export function upstreamAccounts(options: UpstreamAccountsOptions): Accounts {
  const { data, fault } = readValue(schema, options);
  if (fault) return invalidOption(['accounts', ...fault.path].join('.'), fault.problem);
  const { scope, mayUse, ...client } = data;
  const { issuer } = client;
  readOption('accounts.issuer', () =>
    requireSecureUrl(issuer, 'the provider’s issuer', { allowInsecureLoopback: false }),
  );
  const configuration = upstreamConfiguration(client, ['oidc']);
  const parts = { configuration, scope, issuer, mayUse };
  return {
    signIn: async (step) => (step.query.has('state') ? finish(parts, step) : start(parts, step)),
    isKnown: (account) => account.startsWith(accountOf(issuer, '')),
    async callback({ url = '' }, response) {
      goOn(new URL(url, issuer), response);
    },
  };
}

interface Parts {
  readonly configuration: UpstreamConfiguration;
  readonly scope: string;
  readonly issuer: string;
  readonly mayUse: UpstreamAccountsOptions['mayUse'];
}

async function start({ configuration, scope }: Parts, step: SignInStep): Promise<SignInResult> {
  const [state, nonce, verifier] = [stateFor(step), openid.randomNonce(), openid.randomPKCECodeVerifier()];
  try {
    const url = openid.buildAuthorizationUrl(await configuration(), {
      redirect_uri: redirectUriOf(step),
      scope,
      state,
      nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(step.isAnew ? { prompt: 'login' } : {}),
    });
    await step.keep({ state, nonce, verifier });
    return { redirect: url.href };
  } catch (error) {
    const said = 'The sign-in provider can’t be reached, or its answer can’t be used.';
    return { ...failed(step, 502, said), problem: upstreamProblem(error) };
  }
}

async function finish({ configuration, issuer, mayUse }: Parts, step: SignInStep): Promise<SignInResult> {
  const started = startedSchema.safeParse(await step.take());
  if (!started.success)
    return failed(step, 400, 'This sign-in was used already, or another one began since then.');
  let claims: openid.IDToken | undefined;
  try {
    const { state, nonce, verifier } = started.data;
    const tokens = await openid.authorizationCodeGrant(await configuration(), answerOf(step), {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    claims = tokens.claims();
  } catch (error) {
    // State and issuer were checked before the error was read.
    const isDenied = error instanceof openid.AuthorizationResponseError && error.error === 'access_denied';
    return isDenied
      ? failed(step, 403, 'The sign-in was cancelled, or the sign-in provider refused it.')
      : {
          ...failed(step, 502, 'The answer of the sign-in provider can’t be used.'),
          problem: upstreamProblem(error),
        };
  }
  const subject = subjectSchema.safeParse(claims?.sub);
  if (!claims || !subject.success)
    return failed(step, 502, 'The answer of the sign-in provider can’t be used.');
  if (mayUse && !(await mayUse(claims)))
    return failed(step, 403, 'You signed in, but this account may not be used here.');
  const name = nameOf(claims);
  return { account: accountOf(issuer, subject.data), ...(name === undefined ? {} : { name }) };
}

/** A URI (RFC 7519 §4.1.2). No issuer has a fragment, so two pairs never give the same account. */
export function accountOf(issuer: string, subject: string): string {
  return `${issuer}#${encodeURIComponent(subject)}`;
}

/** For the consent page, and for nothing else. */
function nameOf(claims: openid.IDToken): string | undefined {
  const names = [claims['email'], claims['preferred_username'], claims['name']];
  return names.find((name): name is string => typeof name === 'string' && name !== '')?.slice(0, 100);
}

/** It names the interaction, so that the answer finds its way back to the cookie of this browser. */
export function stateFor({ interaction }: SignInStep): string {
  return `${interaction}.${randomBytes(32).toString('base64url')}`;
}

/** The redirect URI that was sent, whatever a proxy made of the request, with the parameters that came to it. */
export function answerOf(step: SignInStep): URL {
  const answer = new URL(redirectUriOf(step));
  answer.search = step.query.toString();
  return answer;
}

/** One address for all clients and all requests. */
export function redirectUriOf({ issuer }: SignInStep): string {
  return issuer + callbackPath;
}

function failed({ action }: SignInStep, status: number, said: string): { page: string; status: number } {
  return { page: tryAgainPage(said, action), status };
}

/** From the redirect URI, which every browser may open, to the page that only the browser of the sign-in may. */
export function goOn({ pathname, searchParams }: URL, response: ServerResponse): void {
  const interaction = /^([\w-]{1,64})\./.exec(searchParams.get('state') ?? '')?.[1];
  if (!pathname.endsWith(callbackPath) || interaction === undefined) {
    const said = 'This address takes the answer of a sign-in provider, and there is none.';
    response.writeHead(400, pageHeaders).end(errorPage('invalid_request', said));
    return;
  }
  const location = `../interaction/${interaction}?${searchParams.toString()}`;
  response.writeHead(303, { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }).end();
}
