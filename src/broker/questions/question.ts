/** What the person is asked: the kinds of question, and what each shows. No secret, but for a code that is the person's own to type. */
import type { ClientProcessView } from './client-process.ts';
import type { OverrideName } from '../records/override.ts';
import type { SignInDetails, SignInMethod } from './starter.ts';

/** What a command of the owner's would widen. A secret that belongs to it (a client secret, a passphrase) isn't here. */
export type ApprovalRequest =
  | {
      readonly command: 'allow';
      readonly clientName: string;
      readonly endpoint: string;
      /** Absent: the scopes that the user consents to at the issuer. */
      readonly scope?: readonly string[];
      /** Absent: the accounts that the program works as there stay what they are. */
      readonly account?: string;
      /** Milliseconds since the epoch; absent: until it is ended. */
      readonly until?: number;
    }
  | {
      readonly command: 'register';
      readonly issuer: string;
      /** The client identifier there. */
      readonly registration: string;
      readonly grant?: 'authorization_code' | 'client_credentials' | 'id-jag';
      readonly authMethod?: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
      readonly redirectUri?: string;
      /** For id-jag: the issuer URL of the identity provider. */
      readonly idp?: string;
      /** A client that was entered for that issuer ends with it. */
      readonly replaces: boolean;
    }
  | {
      readonly command: 'endDenial';
      readonly clientName: string;
      readonly endpoint: string;
      /** The scopes and the accounts that were refused; without either everything was. */
      readonly scope?: readonly string[];
      readonly accounts?: readonly string[];
      /** When the denial would end, in milliseconds since the epoch; absent: now. */
      readonly until?: number;
    }
  | {
      readonly command: 'login';
      readonly endpoint: string;
      readonly method: SignInMethod;
      readonly issuer?: string;
      readonly account?: string;
      readonly scope?: readonly string[];
      /** Keyturn would register a new client there, even if it has one. */
      readonly isNewClient?: true;
    }
  | { readonly command: 'override'; readonly server: string; readonly override: OverrideName }
  | {
      readonly command: 'settings';
      readonly name: string;
      /** As it may be shown; absent: the setting is unset. */
      readonly value?: string | number | boolean;
    }
  | { readonly command: 'unlock' | 'passphrase' };

/** Whose tokens a program would get by a yes. */
export interface OfferedGrant {
  readonly id: string;
  readonly issuer: string;
  readonly account: string;
  /** Accounts that the program works as there now, without this one. */
  readonly held: readonly string[];
  /** The program may reach the server already, and the question is about the account. */
  readonly isAnother: boolean;
}

/** A setting that was written outside Keyturn, as it may be shown. */
export interface WrittenSetting {
  readonly name: string;
  /** Absent: it was unset. */
  readonly value?: string | number | boolean;
  /** What counts in its place; absent: nothing. */
  readonly held?: string | number | boolean;
  /** The value is the same, and the file that it names has another content. */
  readonly isContent?: true;
}

/** What the card of a sign-in shows, however the person reaches the issuer. */
interface SignInQuestion extends SignInDetails {
  readonly endpoint: string;
  readonly issuer: string;
}

export type Question =
  | {
      readonly kind: 'allow';
      readonly clientId: string;
      readonly clientName: string;
      readonly endpoint: string;
      /** What a yes allows; absent where the first sign-in will tell. */
      readonly scope?: readonly string[];
      /** The grant that would serve; a yes names it in the permission. Absent where nobody has signed in yet. */
      readonly grant?: OfferedGrant;
      /** As it was when it asked. */
      readonly asker?: ClientProcessView;
      /** Whether something is allowed it there now, that a yes "as before" could be held to. */
      readonly isAllowed?: () => boolean;
    }
  | {
      readonly kind: 'pair';
      readonly clientName: string;
      /** Six digits that the program shows too. */
      readonly code: string;
      readonly asker?: ClientProcessView;
    }
  | (SignInQuestion & {
      readonly kind: 'login';
      /** Our record of the client whose page it is. */
      readonly registrationId: string;
      /** The authorization URL, for a person whose browser did not open. */
      readonly url: string;
      /** Our own address that leads on to it, for the browser here; absent: the page opens elsewhere. */
      readonly startUrl?: string;
      /** What to try where the page shows an error; a sentence without its end. */
      readonly hint?: string;
      /**
       * What to do if the server has forgotten the client: have another registered, or enter one, which is all that helps
       * where the owner entered it or the server registers none. Absent: it was registered for this very sign-in.
       */
      readonly ifForgotten?: 'anew' | 'byHand';
      /** The issuer that the protected server named before, where it names another now. */
      readonly formerIssuer?: string;
      /** The server did not take the client of the page before: this page is of another one. */
      readonly isNewClient?: true;
      /** Takes the address that a browser elsewhere ended at. Throws `state_mismatch`, `invalid_request`. */
      readonly paste: (address: string) => void;
      /** The person says that the page shows an error: the server may have forgotten the client. */
      readonly showsError: () => void;
    })
  | (SignInQuestion & {
      readonly kind: 'device';
      /** For the user alone. */
      readonly userCode: string;
      readonly url: string;
      /** The same with the code in it. */
      readonly completeUrl?: string;
    })
  | {
      /** A sign-in came back as another account: shall it be a grant of its own? */
      readonly kind: 'account';
      readonly endpoint: string;
      readonly issuer: string;
      /** Who signed in; absent: the server didn't say. */
      readonly account?: string;
      /** Whose sign-in it could have been. */
      readonly known: readonly string[];
    }
  | {
      /** Settings that the vault doesn't vouch for: shall they count? */
      readonly kind: 'settings';
      readonly settings: readonly WrittenSetting[];
    }
  | {
      readonly kind: 'command';
      readonly request: ApprovalRequest;
      /** The process that runs the command, as it was when it asked. */
      readonly asker: ClientProcessView;
    };
