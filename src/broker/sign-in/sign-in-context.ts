/**
 * Types that every kind of sign-in uses: the request, its destination, and where the tokens are stored. Types only, so
 * that the kinds of sign-in and the code that chooses among them need not import each other.
 */
import type { BearerChallenge } from '../../oauth/discovery/challenge.ts';
import type { DpopKey } from '../../oauth/client/dpop-key.ts';
import type { TokenResponse } from '../../oauth/grants/token.ts';
import type { Destination } from '../destination/destination.ts';
import type { SignIn } from '../records/sign-in.ts';
import type { PageOptions } from './page-options.ts';
import type { RegistrationRecord } from '../records/registrations.ts';
import type { SignInDetails, SignInMethod } from '../approval-requests/starter.ts';

export interface SignInRequest extends SignInDetails {
  readonly endpoint: string;
  /** As somebody typed it: a slash at its end may matter to the server. */
  readonly typed?: string;
  /** The challenge that the app got; a hint (invariant 11, dev/internals.md). */
  readonly challenge?: BearerChallenge;
  /** Scopes the caller needs; a step-up passes the union. */
  readonly scope?: readonly string[];
  /** Scopes that were requested before and not granted. They are stored as requested, and not sent again. */
  readonly notGranted?: readonly string[];
  /** The number of such sign-ins is bounded, so a refusal of their scopes doesn't keep other pages from opening. */
  readonly isStepUp?: boolean;
  /** Scopes that a permission allows at most; absent: any. */
  readonly allowedScope?: readonly string[];
  readonly issuer?: string;
  readonly method: SignInMethod;
  /** Registers a new client for this sign-in, even if one is registered there already. */
  readonly isNewClient?: boolean;
  /** An app's request started it, not the user. */
  readonly isAutomatic: boolean;
  /** The user may not be asked: only sign-ins that need none are used. */
  readonly mayNotAsk: boolean;
  /** The sign-in to renew; absent if there is none. */
  readonly signInId?: string;
  /** The one app that its tokens are for, because this server can't narrow by a refresh. Absent: all apps. */
  readonly onlyFor?: string | undefined;
  /** Automatic sign-ins that this one serves too: it asks for their scopes. */
  readonly waiting?: readonly SignInRequest[];
  /** Of an automatic one: whether its app may still have these scopes. */
  readonly isAllowed?: () => boolean;
  /** The last sign-in there came back as another account. */
  readonly isChoosing?: boolean;
}

export interface SignInContext {
  readonly request: SignInRequest;
  readonly destination: Destination;
  readonly scope: readonly string[] | undefined;
  /** None for a sign-in without a page in this user's browser. */
  readonly options: PageOptions;
  /** The server refused the page with `offline_access`, which Keyturn had added. */
  readonly isWithoutOffline?: true;
  /** The name that is reserved for the item with its tokens. */
  readonly item: string;
  /** The key that its tokens will be bound to; undefined for Bearer tokens. */
  readonly dpopKey: DpopKey | undefined;
}

export interface IssuedTokens {
  readonly record: RegistrationRecord;
  readonly answer: TokenResponse;
  /** What was asked for at last, if that is less than the sign-in wanted. */
  readonly asked?: readonly string[] | undefined;
  /** Tells the user's browser that a question waits; absent where none shows the outcome. */
  readonly asking?: () => void;
}

/** Stores the issued tokens; called while the user still sees the page, so that it can show the outcome. */
export type StoreTokens = (tokens: IssuedTokens) => Promise<SignIn>;

/** Waits for its turn. `opened`: the page is up; `closed`: the sign-in goes on without it. */
export type OnPage = (work: (opened: () => void, closed: () => void) => Promise<SignIn>) => Promise<SignIn>;
