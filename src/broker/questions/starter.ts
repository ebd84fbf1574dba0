/**
 * Who started a sign-in, and by which way it goes.
 *
 * Invariant: at a desk the address and the codes of a sign-in are told to its starter and to the person's
 * windows, and to nobody else: who has them can sign in as somebody else.
 */

/** How the person reaches the issuer: a browser here, one elsewhere whose last address is pasted back, or a code. */
export type SignInMethod = 'browser' | 'paste' | 'device';

export type Starter =
  | { readonly by: 'window' | 'program' }
  /** A number for each connection, never used again. */
  | { readonly by: 'command'; readonly connection: number };

/** What a question says of every sign-in, besides where it leads. */
export interface SignInDetails {
  /** The label that the sign-in was asked for; absent: none was named. */
  readonly account?: string;
  /** Who is signed in there, where nobody is by that label: it would be a new account. */
  readonly beside?: readonly string[];
  /** Absent: nobody who can be told, but the windows. */
  readonly starter?: Starter;
}

export function signInDetails({ account, beside, starter }: SignInDetails): SignInDetails {
  return {
    ...(account === undefined ? {} : { account }),
    ...(beside === undefined ? {} : { beside }),
    ...(starter === undefined ? {} : { starter }),
  };
}

/** True for the connection that started this sign-in. */
export function isStartedBy({ starter }: SignInDetails, connection: number): boolean {
  return starter?.by === 'command' && starter.connection === connection;
}
