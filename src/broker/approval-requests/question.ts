/** The kinds of question, and what each shows. No secrets of Keyturn, except codes that the user has to type. */
import type { AppProcessView } from './app-process.ts';
import type { ShownApiKey } from '../records/api-key.ts';
import type { ForwardOrigin } from '../records/app.ts';
import type { SignInDetails } from './starter.ts';

/** The sign-in whose tokens an approval would give the app. */
export interface OfferedSignIn {
  readonly id: string;
  readonly issuer: string;
  readonly account: string;
  /** Its tokens are bound to a DPoP key: the app gets proofs, and never the key. */
  readonly isKeyBound: boolean;
  /** Other accounts that the app uses there now. */
  readonly otherAccounts: readonly string[];
  /** The app may already reach the server; the question is only about the account. */
  readonly isAboutAccountOnly: boolean;
}

/** A setting that was changed outside Keyturn, as it may be shown. */
export interface WrittenSetting {
  readonly name: string;
  /** Absent: it was unset. */
  readonly value?: string | number | boolean;
  /** The value in force; absent: none. */
  readonly inEffect?: string | number | boolean;
  /** The value is the same, but the content of the file that it names has changed. */
  readonly isContent?: true;
}

/** Of a home that was used without the app: what it allows, as it may be shown. */
export interface AllowedGroup {
  readonly what: 'signIns' | 'apiKeys' | 'apps' | 'permissions' | 'exceptions' | 'oauthClients' | 'proxies';
  readonly count: number;
  /** The first of them. */
  readonly lines: readonly string[];
}

/** What every sign-in card shows, for each way to reach the issuer. */
interface SignInQuestion extends SignInDetails {
  readonly endpoint: string;
  readonly issuer: string;
}

export type AllowQuestion = Extract<Question, { readonly kind: 'allow' }>;

export type PageQuestion = Extract<Question, { readonly kind: 'signIn' }>;

export type Question =
  | {
      readonly kind: 'allow';
      readonly appId: string;
      readonly appName: string;
      readonly endpoint: string;
      /** Of the URL that the app asks for, with its question mark: shown, and no part of the permission. */
      readonly query?: string;
      /** The question is about the endpoint's API key, not a token. `target`: what its permission is stored under. */
      readonly apiKey?: ShownApiKey & { readonly target: string };
      /** What an approval allows; absent if only the first sign-in shows it. */
      readonly scope?: readonly string[];
      /** The sign-in to use; an approval names it in the permission. Absent if nobody has signed in yet. */
      readonly signIn?: OfferedSignIn;
      readonly appProcess?: AppProcessView;
      /** The app is a proxy's address: an approval is for any program that knows it. `appProcess` is the process of the proxies. */
      readonly proxied?: true;
      /** The process that asked may have ended before the answer: an approval can't be for this process only. */
      readonly isDetached?: true;
      /** The app runs elsewhere; `appProcess` is what passes its requests on. */
      readonly forward?: ForwardOrigin;
      /** Whether the app has a permission there now, which an approval "as before" could keep. */
      readonly canAllowAsBefore?: () => boolean;
    }
  | {
      readonly kind: 'pair';
      readonly appName: string;
      /** Six digits that the app also shows. */
      readonly code: string;
      readonly appProcess?: AppProcessView;
      readonly forward?: ForwardOrigin;
    }
  | (SignInQuestion & {
      readonly kind: 'signIn';
      /** Our record of the client that the page uses. */
      readonly registrationId: string;
      /** The authorization URL, for a user whose browser did not open. */
      readonly url: string;
      /** Our own address that redirects the local browser to it; absent: the page opens on another machine. */
      readonly startUrl?: string;
      /** What to try if the page shows an error; a sentence without its full stop. */
      readonly hint?: string;
      /** If the server forgot the client: register one, or enter one by hand. Absent: it is new, or replaces one. */
      readonly ifForgotten?: 'register' | 'byHand';
      /** The issuer that the MCP server named before, if it names another one now. */
      readonly formerIssuer?: string;
      /** This page uses another client than before: the server refused that one, or the user wanted a new one. */
      readonly isNewClient?: true;
      readonly browserError?: string | undefined;
      /** An answer came without `state`: its error code, empty if it has none. */
      readonly stateless?: string | undefined;
      /** Takes the final address of a browser on another machine. Throws `state_mismatch`, `invalid_request`. */
      readonly paste: (address: string) => void;
      /** The user reports that the page shows an error: the server may have forgotten the client. */
      readonly showsError: () => void;
    })
  | (SignInQuestion & {
      readonly kind: 'device';
      /** Only for the user. */
      readonly userCode: string;
      readonly url: string;
      readonly completeUrl?: string;
    })
  | {
      /** A sign-in returned another account. The question: should it become a separate sign-in? */
      readonly kind: 'account';
      readonly endpoint: string;
      readonly issuer: string;
      /** The account that signed in; absent: the server didn't name it. */
      readonly account?: string;
      /** The accounts that could have signed in. */
      readonly known: readonly string[];
    }
  | {
      /** Settings that the vault doesn't confirm. The question: should they apply? */
      readonly kind: 'settings';
      readonly settings: readonly WrittenSetting[];
      /** At the app's first use: what the home allows. A denial removes it. */
      readonly allowed: readonly AllowedGroup[];
    }
  | {
      /** An MCP server asks the user to open an address. An approval opens it, and grants no access. */
      readonly kind: 'url';
      readonly appId: string;
      readonly appName: string;
      readonly endpoint: string;
      /** As the browser gets it. May hold a secret of the server's in its query. */
      readonly url: string;
      readonly message: string;
      readonly appProcess?: AppProcessView;
    }
  | {
      /** Which of its accounts an app uses at a server. An approval names one of them, and gives no other one. */
      readonly kind: 'choice';
      readonly appId: string;
      readonly appName: string;
      readonly endpoint: string;
      readonly accounts: readonly string[];
      readonly appProcess?: AppProcessView;
      readonly proxied?: true;
    }
  | {
      readonly kind: 'command';
      /** What the command would widen, in the words of the daemon's list (daemon/approvals/). Nothing here reads it. */
      readonly request: object;
      /** The process that runs the command, at the time of its question. */
      readonly appProcess: AppProcessView;
    };

/** Whether an app asks it about a server. `target`: the endpoint, or what the permission for its API key is stored under. */
export function isAskedBy(question: Question, appId: string, target: string): boolean {
  if (!('appId' in question) || question.appId !== appId || !('endpoint' in question)) return false;
  const apiKey = question.kind === 'allow' ? question.apiKey : undefined;
  return (apiKey?.target ?? question.endpoint) === target;
}
