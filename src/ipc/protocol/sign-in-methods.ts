/**
 * The methods about sign-ins: what there is, its end, and a new one that the user starts.
 *
 * Invariant: states and never secrets: no answer here has a field for a token.
 */
import * as z from 'zod';
import { maxLength } from '../wire/limits.ts';
import { ownersEnd, ownersWiden, type Method } from './method.ts';
import { signInMethod } from './schemas/request-schema.ts';
import {
  account,
  count,
  empty,
  exceptionName,
  id,
  instant,
  scope,
  seconds,
  shownName,
  state,
  url,
} from './schemas/values.ts';

/** What became of the tokens of a sign-in that was ended here. */
const receiptFields = {
  /** The issuer ended them; it has no revocation for us; it wasn't reached yet; it never was, and we gave up. */
  receipt: z.literal(['confirmed', 'notOffered', 'pending', 'abandoned']),
  endedAt: instant.optional(),
  /** Until when an access token that was handed out may still work; absent where none can. */
  liveUntil: instant.optional(),
  /** While pending: when the issuer is asked next, and until when it is tried. */
  nextTryAt: instant.optional(),
  triedUntil: instant.optional(),
};

/** One sign-in, as the user or the app sees it. Never a token. */
const signIn = z.object({
  id,
  resource: url,
  endpoint: url,
  issuer: url,
  account: account.optional(),
  scope,
  /** `active`, `refreshing` (a refresh is under way), `signInRequired` (a new sign-in helps) or `revoked`. */
  state,
  /** Those that the user added for this server. */
  exceptions: z.array(exceptionName),
  /** Why the user must sign in again. */
  why: z.string().max(maxLength.url).optional(),
  /** Of a revoked sign-in. */
  ...receiptFields,
  receipt: receiptFields.receipt.optional(),
  /** What its newest access token says of the resource it is for; absent where that can't be seen. */
  audience: z.literal(['resource', 'unbound', 'other']).optional(),
  /** `DPoP`: its tokens are bound to a DPoP key of the broker. */
  tokenType: z.literal(['Bearer', 'DPoP']).optional(),
  expires_at: instant.optional(),
  lastRefreshedAt: instant.optional(),
  /** The issuer could not give a token since then, and isn't asked before `nextTryAt`. */
  trouble: z.object({ reason: state, since: instant, nextTryAt: instant }).optional(),
  /** A refresh with an unknown outcome: the broker stopped during it, or the answer was lost. */
  lostRefresh: z.object({ startedAt: instant, cause: z.literal(['brokerStopped', 'answerLost']) }).optional(),
  /** Names of the apps that may use it; an app sees only its own. */
  apps: z.array(shownName),
});

/** A sign-in by its id, or every sign-in of an endpoint. */
const signInNamed = z
  .object({ id: id.optional(), resource: url.optional(), account: account.optional() })
  .refine(
    (params) => (params.id === undefined) !== (params.resource === undefined),
    'exactly one of id and resource names the sign-in',
  );

const sentence = z.string().max(maxLength.scope);

/** A sign-in's state, what happens next, and what became of it. */
const explanation = z.object({
  signIn,
  signedInAt: instant,
  /** Its state, and what happens next, in words for the user. */
  now: sentence,
  next: sentence,
  lostRefresh: sentence.optional(),
  /** If a token isn't for this server alone. */
  audience: sentence.optional(),
  /** Where its tokens are bound to a DPoP key. */
  dpopKey: sentence.optional(),
  /** If the issuer’s clock is more than a minute off. */
  clock: sentence.optional(),
  /** How far the issuer’s clock is ahead of ours, where `clock` speaks of it; negative: behind. */
  clockAhead: z.int().optional(),
  /** Apps whose rejected tokens are not replaced for now; an app sees its own. */
  rejections: z
    .array(
      z.object({
        app: shownName,
        operation: z.string().max(maxLength.operation).optional(),
        until: instant,
      }),
    )
    .optional(),
  /** What brings the next access token, and its earliest time; absent if the state says that only a new sign-in helps. */
  refresh: z
    .object({
      by: z.literal(['underWay', 'timer', 'request', 'signIn', 'resume']),
      after: instant.optional(),
    })
    .optional(),
  /** What the audit log has about it, oldest first; an app sees what is its own. */
  timeline: z.array(
    z.object({
      at: instant,
      event: z.string(),
      outcome: z.string(),
      app: z.string().optional(),
      /** So many of the same kind within a minute. */
      count: count.optional(),
    }),
  ),
});

/** What ending a sign-in came to. */
export const receipt = z.object({
  id,
  resource: url,
  issuer: url,
  account,
  ...receiptFields,
});

const signInStart = z.object({
  resource: url,
  method: signInMethod.optional(),
  scope: scope.min(1).optional(),
  account: account.optional(),
  issuer: url.optional(),
  /** Register another OAuth client for it: the page with the present one shows an error. */
  newClient: z.literal(true).optional(),
  timeout: seconds.optional(),
});

/** What the user says of a sign-in's page. */
const pageAnswer = z
  .object({
    id,
    /** The whole URL that a browser elsewhere ended at. Holds a code: never logged. */
    redirect: z.string().min(1).max(maxLength.challenge).optional(),
    /** The page shows an error instead of the sign-in. */
    isErrorPage: z.literal(true).optional(),
  })
  .refine(
    ({ redirect, isErrorPage }) => (redirect === undefined) !== (isErrorPage === undefined),
    'exactly one of redirect and isErrorPage',
  );

export const signInMethods = {
  'signIn.list': {
    who: 'any',
    effect: 'reads',
    showsRecords: true,
    isPolled: true,
    params: empty,
    result: z.object({ signIns: z.array(signIn) }),
  },
  'signIn.show': {
    who: 'any',
    effect: 'reads',
    showsRecords: true,
    params: signInNamed,
    result: z.object({ signIns: z.array(explanation) }),
  },
  'signIn.revoke': {
    ...ownersEnd,
    mayPrompt: true,
    appHint:
      'Other apps may use the sign-in. permission.release ends this app’s own permission; the user revokes with: keyturn logout URL',
    params: signInNamed,
    result: z.object({ revoked: z.array(receipt) }),
  },
  'signIn.start': {
    ...ownersWiden,
    signsIn: true,
    mayPrompt: true,
    params: signInStart,
    result: z.object({ signIn }),
  },
  /**
   * The issuer where a sign-in would go, for an OAuth client that the user registered by hand. `wasShown`: the user has
   * seen this issuer named for this server before, so its client secret may go there.
   */
  'signIn.issuer': {
    who: 'owner',
    effect: 'reads',
    usesRecords: true,
    params: signInStart.pick({ resource: true, issuer: true }),
    result: z.object({ issuer: url, wasShown: z.boolean() }),
  },
  'signIn.answer': {
    who: 'owner',
    // While the Keyturn app runs, only a window, or the caller that a card let start the sign-in, may answer it.
    // After `isErrorPage` another OAuth client is registered, at the same authorization server.
    effect: 'asks',
    signsIn: true,
    params: pageAnswer,
    result: empty,
  },
} as const satisfies Record<string, Method>;
