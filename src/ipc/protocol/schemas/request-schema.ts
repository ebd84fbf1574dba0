/**
 * Open approval requests and sign-ins as schemas of the wire, with the answers that they take.
 *
 * Invariant: every string has a maximum length.
 */
import * as z from 'zod';
import { appProcess } from './app-process-schema.ts';
import { forwardOrigin } from './app-schema.ts';
import {
  assertionSource,
  authMethod,
  clientIdentifier,
  registrationGrantType,
} from './oauth-client-schema.ts';
import { allowedGroup, settingName, settingText, settingValue, unapproved } from './settings-schema.ts';
import {
  account,
  day,
  exceptionName,
  id,
  instant,
  apiKeyHeader,
  scope,
  shownName,
  state,
  url,
} from './values.ts';
import { maxLength } from '../../wire/limits.ts';

/** Seconds: a hundred years, beyond which "until you end it" is what was meant. */
const maxDuration = 36_500 * day;

const aloneOnly = 'once and asBefore each stand alone';

export const usersAnswer = z.object({
  id,
  /** `deny`: an app's request is denied from now on. `dismiss`: the app may ask again. */
  answer: z.literal(['approve', 'deny', 'dismiss']),
  /** Exactly these scopes instead of those that the request names. */
  scope: scope.min(1).optional(),
  /**
   * For the run that asked, for so many seconds, or both; or for one token of that run; or for as long as what
   * the app may do there already, as that stands when the answer is kept.
   */
  duration: z
    .object({
      run: z.literal(true).optional(),
      seconds: z.int().positive().max(maxDuration).optional(),
      once: z.literal(true).optional(),
      asBefore: z.literal(true).optional(),
    })
    .refine(
      (duration) => (duration.once ?? duration.asBefore) === undefined || Object.keys(duration).length === 1,
      aloneOnly,
    )
    .optional(),
  /** Of a choice: one of the accounts that it names. */
  account: account.optional(),
});

/** A browser on this machine; one elsewhere, with its last URL pasted back; or a code (RFC 8628). */
export const signInMethod = z.literal(['browser', 'paste', 'device']);

export const approvalRequest = z.object({
  id,
  kind: z.literal(['allow', 'pair', 'signIn', 'device', 'account', 'command', 'settings', 'url', 'choice']),
  /** Of the kind `command`: what it would widen. The fields below say what the user has to know about it. */
  command: z
    .literal([
      'allow',
      'endDenial',
      'apiKey',
      'oauthClient',
      'signIn',
      'exception',
      'proxy',
      'forward',
      'settings',
      'unlock',
      'passphrase',
      'backup',
      'resume',
    ])
    .optional(),
  /** Of `allow`: the card that shows it. Requests on the same card are shown together, and answered one by one. */
  card: id.optional(),
  app: shownName.optional(),
  appProcess: appProcess.optional(),
  /** The app is a proxy's address: any program that knows it uses it, and no `appProcess` is known. */
  proxied: z.literal(true).optional(),
  /** Of `allow`: the process that asked may have ended, so that an approval can't be for one token or for its run. */
  detached: z.literal(true).optional(),
  /** Of `allow` and `pair`: the app runs elsewhere. Of a forward that would be opened: its other end. */
  forward: forwardOrigin.optional(),
  /** Of a forward that would be opened: what its apps could ask for. */
  resources: z.array(url).optional(),
  resource: url.optional(),
  /** It is about the API key for `resource`, which goes in this header, and about no token. */
  apiKey: apiKeyHeader.optional(),
  /** Of an API key that would be set: Keyturn would not ask whether the server offers a sign-in. */
  unchecked: z.literal(true).optional(),
  issuer: url.optional(),
  /** Of a sign-in: what it asks for only because apps wait for it. */
  scope: scope.optional(),
  /**
   * Of `allow`: whose tokens an approval allows; absent where nobody has signed in yet. Of a sign-in: the name that it was
   * asked for. Of `account`: who signed in; absent where the server didn't say.
   */
  account: account.optional(),
  /** Of `allow`: what an approval allows; `DPoP`: tokens that are bound to a DPoP key. Absent where nobody has signed in yet. */
  tokenType: z.literal(['Bearer', 'DPoP']).optional(),
  /**
   * Of `allow`, if it is about the account only: those that the app works as there now. Of the end of a
   * denial: those that it is about. Of `account`: those that are signed in there. Of a sign-in under a new name:
   * those beside it. Of `choice`: those to choose among, of which an approval names one where there are several.
   */
  accounts: z.array(account).optional(),
  /** Of a sign-in by a page: what to try where the page shows an error. */
  hint: z.string().max(maxLength.scope).optional(),
  until: instant.optional(),
  /** Of a sign-in that a command wants to start. */
  method: signInMethod.optional(),
  clientId: clientIdentifier.optional(),
  /** Of an OAuth client that would be entered, as in `oauthClient.add`; `idp` is the identity provider's issuer. */
  grantType: registrationGrantType.optional(),
  authMethod: authMethod.optional(),
  redirectUri: url.optional(),
  idp: url.optional(),
  assertion: assertionSource.optional(),
  /** True if the OAuth client that was entered for that issuer, or the API key that was set there, would end. */
  replaces: z.boolean().optional(),
  exception: exceptionName.optional(),
  server: url.optional(),
  /** Without a value: it would be unset. A password in a URL is left out. */
  setting: z.object({ name: settingName, value: settingValue.optional() }).optional(),
  /** Of the kind `settings`: what was written outside Keyturn, and would take effect after an approval. */
  settings: z.array(unapproved).optional(),
  /** Of the kind `settings`, at the Keyturn app's first use: what the home allows. A refusal removes all of it. */
  allowed: z.array(allowedGroup).optional(),
  /** The issuer that the MCP server named before, where it names another now. */
  formerIssuer: url.optional(),
  /**
   * The six digits of a pairing, or the code to type at the page of a sign-in on another device. While the Keyturn app runs,
   * that code, and the URL of a sign-in, go to the connection that started it and to the windows.
   */
  code: z.string().max(maxLength.id).optional(),
  /**
   * Of a sign-in: the server refused the OAuth client of the page before, and this page has another one. Of one that
   * a command wants to start: Keyturn would register again there.
   */
  newClient: z.literal(true).optional(),
  /** Of a sign-in by a page: only an OAuth client that the user enters could replace this page's. */
  replacedByHand: z.literal(true).optional(),
  /** Of a sign-in by a page: why no browser was opened. */
  browserError: settingText.optional(),
  /** Of a sign-in by a page: an answer came without `state`. Its error code, empty if it has none. */
  stateless: z.string().max(maxLength.id).optional(),
  /** Of a sign-in: a request of an app, a command, or a window. */
  startedBy: z.literal(['app', 'command', 'window']).optional(),
  /** Of a sign-in: this connection started it, or joined it. */
  own: z.literal(true).optional(),
  /**
   * The page to open; an authorization URL has challenge and state in it, and no secret. Of the kind `url` while the
   * Keyturn app runs: for the windows only, `server` has its origin.
   */
  url: z.string().max(maxLength.challenge).optional(),
  /** The broker's own URL that redirects to that page, for a browser on this machine. */
  startUrl: url.optional(),
  /** Of the kind `url`: the words of the server that wants its URL opened. */
  message: z.string().max(maxLength.sentence).optional(),
  createdAt: instant,
  /** When nobody waits for the answer any more; absent for sign-ins and pairings. */
  expiresAt: instant.optional(),
  state,
});
