/**
 * Who started a sign-in, and by which method it runs.
 *
 * Invariant: while the Keyturn app runs, only the starter and the user's windows get the address and the codes of a
 * sign-in. Anyone else who has them could sign in under another account.
 */

/** How the user reaches the issuer: a browser here, one elsewhere whose last address is pasted back, or a code. */
export type SignInMethod = 'browser' | 'paste' | 'device';

export type Starter =
  | { readonly by: 'window' | 'app' }
  /** A number for each connection, never used again. */
  | { readonly by: 'command'; readonly connection: number };

/** What every question about a sign-in contains, besides its address. */
export interface SignInDetails {
  /** The requested account label; absent: none was named. */
  readonly account?: string;
  /** The accounts signed in there, if none has that label: this sign-in would add a new account. */
  readonly beside?: readonly string[];
  /** Scopes that it asks for only because apps wait for them. */
  readonly added?: readonly string[];
  /** Of the URL that was asked for, with its question mark: shown after the endpoint. */
  readonly query?: string;
  /** Absent: only the windows show it. */
  readonly starter?: Starter;
  /** Of the user's sign-in: everyone who started it or joined it. */
  readonly starters?: Set<Starter>;
}

export function signInDetails(details: SignInDetails): SignInDetails {
  const { account, beside, added, query, starter, starters } = details;
  return { account, beside, added, query: query || undefined, starter, starters };
}

export function isStartedBy({ starters }: SignInDetails, connection: number): boolean {
  return [...(starters ?? [])].some((one) => one.by === 'command' && one.connection === connection);
}
