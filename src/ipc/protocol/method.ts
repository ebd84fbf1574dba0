/**
 * What the table says of one method of the wire: what it takes and answers, who may call it, and what has to hold
 * before it runs.
 *
 * Invariant: flags default to the restrictive value, so a carelessly added method is refused.
 */
import type * as z from 'zod';

/**
 * Who may call a method. `owner`: the `keyturn` command and the Keyturn app, which act for the user. `any`: these and
 * apps, each seeing what is theirs.
 */
type Who = 'owner' | 'app' | 'any';

/**
 * What a method does to access. `reads` changes none. `reduces` takes away or ends. `asks` gives only what the user
 * allows on a card, or what the caller's own sign-in brings. `widens` gives more access than before, whatever its
 * params are; `mayWiden` depends on them. While the Keyturn app runs, a command that widens needs approval, and a window a press.
 */
type Effect = 'reads' | 'reduces' | 'asks' | 'widens' | 'mayWiden';

export interface Method {
  readonly params: z.ZodType;
  readonly result: z.ZodType;
  /** While the vault is locked, methods of `app` are refused; the owner's go on and meet the lock themselves. */
  readonly who: Who;
  readonly effect: Effect;
  /**
   * The owner's call acts by records that give access, so they are verified first. For an app's call they always are.
   * A row that forgets this is refused: unverified records throw.
   */
  readonly usesRecords?: true;
  /** It shows records, verified or not: `notVerified` is the warning of its result then. */
  readonly showsRecords?: true;
  /**
   * Starts a sign-in, or carries one on: it can put another account behind what was allowed. Refused if only the
   * Keyturn app may approve and it isn't running.
   */
  readonly signsIn?: true;
  /** Success changes no list that anybody shows. For `reduces`, `widens` and `mayWiden`, which otherwise do. */
  readonly changesNoList?: true;
  /** It may be called again and again to show something. From the owner, it doesn't keep an idle vault from locking. */
  readonly isPolled?: true;
  /** A user acts and waits: the keychain may ask at once, though it asked a moment ago. */
  readonly mayPrompt?: true;
  /** Answered even in a home whose files don't belong together: it only shows, or it ends the broker or the home. */
  readonly inMismatchedHome?: true;
  /** Stops the broker. It waits for the other requests, and must not wait for itself. */
  readonly stopsBroker?: true;
  /** The hint for an app that calls this method of the owner's: what it can do instead. */
  readonly appHint?: string;
}

/** The owner's methods that use records to end access, to widen it, or to do either. */
export const ownersEnd = { who: 'owner', effect: 'reduces', usesRecords: true } as const;
export const ownersWiden = { who: 'owner', effect: 'widens', usesRecords: true } as const;
export const ownersMayWiden = { who: 'owner', effect: 'mayWiden', usesRecords: true } as const;

/** What the owner's windows and commands read: the state of any home, and lists of records. */
export const ownersShow = { who: 'owner', effect: 'reads', isPolled: true, inMismatchedHome: true } as const;
export const ownersList = { who: 'owner', effect: 'reads', isPolled: true, showsRecords: true } as const;
