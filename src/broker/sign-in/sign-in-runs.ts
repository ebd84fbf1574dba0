/**
 * The sign-ins under way: those that requests start automatically, and those that the user starts.
 *
 * Invariants (5, dev/internals.md): at most one automatic page is open. It opens only if an app still waits for it
 * and may still reach the endpoint. After a failed page none opens until the user acts. After a withdrawn page the
 * next one waits. When the user signs in, waiting pages for that endpoint are withdrawn.
 */
import type { BrokerParts } from '../parts.ts';
import { untilAborted } from '../../base/abort.ts';
import { KeyturnError, reasonOf } from '../../base/errors.ts';
import { ScopeRefused } from '../../oauth/grants/authorization-failure.ts';
import { isShared } from '../records/sign-in.ts';
import type { SignIn } from '../records/sign-in.ts';
import { anotherPageFirst, PageTimedOut, refusalAtDeadline } from '../refusals/pending-refusals.ts';
import { PageQueue } from './page-queue.ts';
import { SharedWork } from '../../base/shared-work.ts';
import { runSignIn } from './run-sign-in.ts';
import type { OnPage, SignInRequest } from './sign-in-context.ts';
import type { PageQuestion } from '../approval-requests/question.ts';
import { isStartedBy } from '../approval-requests/starter.ts';

type AutomaticSignIn = Omit<SignInRequest, 'isAutomatic' | 'method' | 'starter' | 'isChoosing'>;
type UserSignIn = Omit<SignInRequest, 'isAutomatic' | 'isUnattended' | 'isChoosing'>;

export class SignInRuns {
  readonly #parts: BrokerParts;
  readonly #runs = new SharedWork<SignIn>();
  readonly pages: PageQueue;
  /** Automatic sign-ins that end when the user signs in, by endpoint and account. */
  readonly #cancelAutomatic = new Map<string, AbortController>();
  /** The user's sign-ins under way, by endpoint and account; each ends without an error. */
  readonly #userSignIns = new Map<string, Promise<unknown>>();
  /** The user's sign-ins with a new client: automatic ones wait for them, since their page would show an error. */
  readonly #reRegistering = new Set<string>();
  /** Endpoints whose last sign-in came back as another account than was meant. */
  readonly #wrongAccount = new Set<string>();

  constructor(parts: BrokerParts) {
    this.#parts = parts;
    this.pages = new PageQueue(() => parts.clock.now());
  }

  /** What a request was waiting for when its time ran out. `appId`: absent for the user's own sign-in. */
  refusalAtDeadline({
    appId,
    endpoint,
  }: {
    readonly appId?: string;
    readonly endpoint: string;
  }): KeyturnError {
    const { approvalRequests, isKeyturnApp } = this.#parts;
    if (this.pages.isQueued(endpoint)) return anotherPageFirst(endpoint, isKeyturnApp);
    return refusalAtDeadline(approvalRequests.list(), { appId, endpoint, isKeyturnApp });
  }

  /** Withdraws the pages and refuses new ones. Resolves when codes that came already are exchanged and kept. */
  async end(reason: KeyturnError): Promise<void> {
    await this.#runs.end(reason);
  }

  /** Under a permission. Throws `conflict` when the page is no longer needed: look at the sign-in again. */
  async automatic(asked: AutomaticSignIn, caller: AbortSignal): Promise<SignIn> {
    const key = keyOf(asked.endpoint, asked.account);
    if (!asked.isUnattended && this.#reRegistering.has(key)) {
      await untilAborted(this.#userSignIns.get(key) ?? Promise.resolve(), caller);
      throw notNeeded(asked.endpoint);
    }
    const request = { ...asked, method: 'browser', isAutomatic: true, starter: { by: 'app' } } as const;
    return this.#runs.join(
      keyOfAutomatic(asked),
      (signal, isAwaited) => this.#inTurn(key, request, signal, isAwaited),
      caller,
    );
  }

  async #inTurn(
    key: string,
    request: SignInRequest,
    signal: AbortSignal,
    isAwaited: () => boolean,
  ): Promise<SignIn> {
    const { endpoint } = request;
    const ownEnd = new AbortController();
    this.#cancelAutomatic.set(key, ownEnd);
    const either = AbortSignal.any([signal, ownEnd.signal]);
    const turn: OnPage = (work) =>
      this.pages.run(
        endpoint,
        either,
        (opened, closed) => {
          if (!isAwaited() || !this.#isAllowed(endpoint)) throw notNeeded(endpoint);
          return work(opened, closed);
        },
        // The user can do nothing about a scope that an app mistyped, and the step-ups are bounded.
        (error) => !(request.isStepUp && error instanceof ScopeRefused),
      );
    try {
      return await this.#signIn(request, turn, either);
    } finally {
      if (this.#cancelAutomatic.get(key) === ownEnd) this.#cancelAutomatic.delete(key);
    }
  }

  /**
   * On purpose: no turn to wait for. While the Keyturn app runs, a sign-in belongs to who started it: nobody joins
   * another's, because only its starter gets its address. Elsewhere equal requests share one.
   */
  async byUser(asked: UserSignIn, caller: AbortSignal): Promise<SignIn> {
    // Two spellings of one endpoint are one sign-in.
    const { isNewClient = false, typed: _typed, ...plain } = asked;
    const shared = this.#parts.isKeyturnApp ? plain : { ...plain, starter: undefined };
    const key = `user ${JSON.stringify(shared)}`;
    const page = this.#runs.has(key) ? this.#pageOf(asked) : undefined;
    // A user who wants a new client has seen the open page. One who came back from none may have seen an error there.
    if (isNewClient || (page?.ifForgotten === 'register' && !this.#runs.isAwaited(key))) page?.showsError();
    const request: SignInRequest = { ...asked, isAutomatic: false, isUnattended: false };
    const start = (signal: AbortSignal): Promise<SignIn> => this.#noted(request, signal);
    const isJoining = this.#runs.has(key);
    const run = this.#runs.join(key, start, caller);
    if (isNewClient) this.#holdAutomatic(asked);
    return run.catch((error: unknown) => {
      // The time of the other caller's page is over: this caller gets a new page.
      if (isJoining && error instanceof PageTimedOut) return this.#runs.join(key, start, caller);
      throw error;
    });
  }

  #noted(request: SignInRequest, signal: AbortSignal): Promise<SignIn> {
    const key = keyOf(request.endpoint, request.account);
    const run = this.#atOnce(request, signal);
    const end = (): void => {
      if (this.#userSignIns.get(key) !== own) return;
      this.#userSignIns.delete(key);
      this.#reRegistering.delete(key);
    };
    const own = run.catch(() => undefined).finally(end);
    this.#userSignIns.set(key, own);
    return run;
  }

  /** The page of an app there shows an error too: its request goes on with what the user's sign-in brings. */
  #holdAutomatic({ endpoint, account }: UserSignIn): void {
    const key = keyOf(endpoint, account);
    if (!this.#userSignIns.has(key)) return;
    this.#reRegistering.add(key);
    this.#cancelAutomatic.get(key)?.abort(notNeeded(endpoint));
  }

  #pageOf({ endpoint, account, method, starter }: UserSignIn): PageQuestion | undefined {
    const { isKeyturnApp, approvalRequests } = this.#parts;
    const isOwn = (page: PageQuestion): boolean =>
      isKeyturnApp
        ? starter?.by === 'command' && isStartedBy(page, starter.connection)
        : page.starter?.by !== 'app';
    return approvalRequests
      .list()
      .flatMap(({ question }) => (question.kind === 'signIn' ? [question] : []))
      .find(
        (page) =>
          page.endpoint === endpoint &&
          page.account === account &&
          (page.startUrl !== undefined) === (method === 'browser') &&
          isOwn(page),
      );
  }

  async #atOnce(request: SignInRequest, signal: AbortSignal): Promise<SignIn> {
    const signIn = await this.#signIn(request, (work) => work(nothing, nothing), signal);
    for (const account of [undefined, signIn.account]) {
      this.#cancelAutomatic.get(keyOf(request.endpoint, account))?.abort(notNeeded(request.endpoint));
    }
    return signIn;
  }

  /** After another account the next page asks which one is meant; once, since a server may fail on that. */
  async #signIn(request: SignInRequest, onPage: OnPage, signal: AbortSignal): Promise<SignIn> {
    const { endpoint } = request;
    const isChoosing = this.#wrongAccount.delete(endpoint);
    try {
      const signIn = await runSignIn(this.#parts, { ...request, isChoosing }, onPage, signal);
      if (!isMeant(request, signIn)) this.#wrongAccount.add(endpoint);
      return signIn;
    } catch (error) {
      if (reasonOf(error) === 'account_mismatch') this.#wrongAccount.add(endpoint);
      throw error;
    }
  }

  #isAllowed(endpoint: string): boolean {
    const { permissions, temporaryPermissions, clock } = this.#parts;
    const now = clock.wall();
    return (
      [...permissions.forEndpoint(endpoint, now), ...temporaryPermissions.forEndpoint(endpoint, now)].length >
      0
    );
  }
}

/** False for an account that was kept beside the intended one. */
function isMeant({ signInId, account }: SignInRequest, signIn: SignIn): boolean {
  if (signInId !== undefined) return signIn.id === signInId || !isShared(signIn);
  return account === undefined || signIn.account === account;
}

const nothing = (): void => undefined;

const keyOf = (endpoint: string, account: string | undefined): string => `${endpoint} ${account ?? ''}`;

function notNeeded(endpoint: string): KeyturnError {
  return new KeyturnError('conflict', `The automatic sign-in for ${endpoint} is no longer needed.`, {
    hint: 'Ask again: the newer state is used.',
  });
}

/** An app that may ask the user doesn't share the refusal of one that may not. */
function keyOfAutomatic({ endpoint, query = '', account, ...asked }: AutomaticSignIn): string {
  const { isUnattended, signInId = '', onlyFor = '' } = asked;
  return `${isUnattended ? 'unattended' : 'attended'} ${signInId} ${onlyFor} ${keyOf(endpoint + query, account)}`;
}
