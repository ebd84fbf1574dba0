/**
 * Who may sign in at the authorization server.
 *
 * Invariant: an account's id is the subject (`sub`) of its tokens, and never changes hands.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLoopbackHost } from '../../../base/text/this-machine.ts';
import { invalidOption } from '../base/invalid-option.ts';
import { signInPage } from '../base/pages.ts';

/** One request of a browser that has to sign in. */
export interface SignInStep {
  readonly request: IncomingMessage;
  /** Fields of the form that was sent; undefined for a GET. */
  readonly form: Readonly<Record<string, string>> | undefined;
  /** Where the form of the page is to be sent, by POST: a path. */
  readonly action: string;
  /** The name and the value of a hidden field that each form must carry. */
  readonly formToken: readonly [name: string, value: string];
  /** Names this authorization. */
  readonly interaction: string;
  /** Our issuer identifier. */
  readonly issuer: string;
  readonly query: URLSearchParams;
  /** True: the client wants this user to sign in, though they may be signed in already. */
  readonly isAnew: boolean;
  /** Keeps this for the authorization, in place of what was kept. */
  readonly keep: (state: Readonly<Record<string, unknown>>) => Promise<void>;
  /** What was kept. Undefined after the first call: it serves once. */
  readonly take: () => Promise<Readonly<Record<string, unknown>> | undefined>;
}

export type SignInResult =
  /** `name`: what the consent page calls the user; the account unless given. */
  | { readonly account: string; readonly name?: string }
  /** `page`: a whole HTML document, with styles but no script. `problem`: what the operator's event says of it. */
  | { readonly page: string; readonly status?: number; readonly problem?: string }
  | { readonly redirect: string };

/** What a sign-in that was forwarded to another authorization server came to. */
export type ForwardedResult =
  | {
      readonly account: string;
      /** Those of the request that the other server granted too; the client gets no other. */
      readonly scopes: readonly string[];
      /** Joins the grant that the client gets to what the other server gave. */
      readonly bind: (grantId: string) => Promise<void>;
    }
  /** For the client, at its redirect URI. */
  | {
      readonly error: 'access_denied' | 'invalid_scope' | 'server_error' | 'temporarily_unavailable';
      readonly description: string;
      /** What the operator's event says of it. */
      readonly problem?: string;
    }
  | { readonly page: string; readonly status?: number }
  | { readonly redirect: string };

/**
 * Accounts of another authorization server, which gives this one tokens for each authorization. Consent comes first:
 * nothing is forwarded before the user allowed this client (MCP, Confused Deputy Problem).
 */
export interface Forwarding {
  /** Where people are sent next, for the consent page. */
  readonly host: string;
  signIn(
    step: SignInStep,
    asked: { readonly clientId: string; readonly scopes: readonly string[] },
  ): Promise<ForwardedResult>;
  /** False: what the other server gave is no longer good, so the grant gives no token. */
  isLive(grantId: string): Promise<boolean>;
  /** The client, or the replay of a token, ended the grant. */
  ended(grantId: string): Promise<void>;
}

export interface Accounts {
  /** A page to show, an address to send the browser to, or the account that signed in. */
  signIn(step: SignInStep): SignInResult | Promise<SignInResult>;
  /** True for an account that may still be used; tokens of others are not refreshed. */
  isKnown(account: string): boolean | Promise<boolean>;
  /** Serves `<issuer>/login/…`, if the kind needs an address of its own. */
  callback?(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Throws invalid_request where this kind must not be used at this issuer. */
  requireUsableAt?(issuer: string): void;
  /** Present: this is asked in the place of `signIn`, for each authorization, and after the user's consent. */
  readonly forwarding?: Forwarding;
}

/**
 * A sign-in by name only, without a password, for development. It refuses an issuer that isn't on this machine.
 * `names`: the accounts.
 */
export function developmentLogin(names: readonly string[]): Accounts {
  return {
    signIn({ form, action, formToken }) {
      const name = form?.['login'];
      if (name === undefined) return { page: signInPage({ action, formToken, names }) };
      if (names.includes(name)) return { account: name };
      const complaint = 'There is no such account.';
      return { page: signInPage({ action, formToken, names, complaint }), status: 400 };
    },
    isKnown: (account) => names.includes(account),
    requireUsableAt(issuer) {
      if (!isLoopbackHost(new URL(issuer).hostname)) {
        invalidOption(
          'accounts',
          'developmentLogin asks for no password, so it is for an issuer on this machine only',
        );
      }
    },
  };
}
