/**
 * The sign-ins under way: those that requests start automatically, and those that the user starts.
 *
 * Invariants (5, dev/internals.md): at most one automatic page is open. It opens only if an app still waits for it
 * and may still reach the endpoint. After a failed page none opens until the user acts. After a withdrawn page the
 * next one waits. While the user signs in, none opens for that endpoint and account, and one that has is withdrawn.
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
  /** Automatic sign-ins that end when the user signs in, by endpoint and account. `run`: the user may join it. */
  readonly #automatic = new Map<string, { readonly end: AbortController; readonly run?: string }>();
  /** The user's sign-ins under way, by endpoint and account; each ends without an error. */
  readonly #userSignIns = new Map<string, Promise<unknown>>();
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
    const { endpoint, account, isUnattended } = asked;
    const underWay = (label?: string) => this.#userSignIns.get(keyOf(endpoint, label));
    const byUser = underWay(account) ?? underWay();
    if (byUser && !isUnattended) {
      await untilAborted(byUser, caller);
      throw notNeeded(endpoint);
    }
    const request = { ...asked, method: 'browser', isAutomatic: true, starter: { by: 'app' } } as const;
    const run = keyOfAutomatic(asked);
    return this.#runs.join(run, (signal, isAwaited) => this.#inTurn(run, request, signal, isAwaited), caller);
  }

  async #inTurn(
    run: string,
    request: SignInRequest,
    signal: AbortSignal,
    isAwaited: () => boolean,
  ): Promise<SignIn> {
    const { endpoint, account, onlyFor } = request;
    const key = keyOf(endpoint, account);
    const own = { end: new AbortController(), run: onlyFor === undefined ? run : undefined };
    this.#automatic.set(key, own);
    const either = AbortSignal.any([signal, own.end.signal]);
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
      if (this.#automatic.get(key) === own) this.#automatic.delete(key);
    }
  }

  /**
   * On purpose: no turn to wait for. While the Keyturn app runs, a sign-in belongs to who started it: nobody joins
   * another's, because only its starter gets its address. Elsewhere equal requests share one, and one that names neither
   * scopes nor an issuer joins the open page of an app.
   */
  async byUser(asked: UserSignIn, caller: AbortSignal): Promise<SignIn> {
    // Two spellings of one endpoint are one sign-in.
    const { isNewClient = false, typed: _typed, ...plain } = asked;
    const shared = this.#parts.isKeyturnApp ? plain : { ...plain, starter: undefined };
    const own = `user ${JSON.stringify(shared)}`;
    const open = this.#pageOf(asked);
    const forApp =
      open?.starter?.by === 'app' && this.#automatic.get(keyOf(open.endpoint, open.account))?.run;
    const key = forApp || own;
    const page = this.#runs.has(key) ? open : undefined;
    // A user who wants a new client has seen the open page. One who came back from none may have seen an error there.
    if (isNewClient || (page?.ifForgotten === 'register' && !this.#runs.isAwaited(key))) page?.showsError();
    const request: SignInRequest = { ...asked, isAutomatic: false, isUnattended: false };
    const start = (signal: AbortSignal): Promise<SignIn> => this.#noted(request, signal);
    const isJoining = this.#runs.has(key);
    const run = this.#runs.join(key, start, caller);
    // The page of an app there shows an error too: its request goes on with what the user's sign-in brings.
    if (isNewClient) this.#endAutomatic(asked);
    return run.catch((error: unknown) => {
      const isOver = error instanceof PageTimedOut || (forApp && reasonOf(error) === 'conflict');
      // The other caller's page is over: this caller gets a new page.
      if (isJoining && isOver) return this.#runs.join(own, start, caller);
      throw error;
    });
  }

  #noted(request: SignInRequest, signal: AbortSignal): Promise<SignIn> {
    const key = keyOf(request.endpoint, request.account);
    const run = this.#atOnce(request, signal);
    const own = run
      .catch(() => undefined)
      .finally(() => {
        if (this.#userSignIns.get(key) === own) this.#userSignIns.delete(key);
      });
    this.#userSignIns.set(key, own);
    return run;
  }

  #endAutomatic({ endpoint, account }: Pick<SignInRequest, 'endpoint' | 'account'>): void {
    this.#automatic.get(keyOf(endpoint, account))?.end.abort(notNeeded(endpoint));
  }

  #pageOf(asked: UserSignIn): PageQuestion | undefined {
    const { endpoint, query = '', account, method, starter } = asked;
    const { isKeyturnApp, approvalRequests } = this.#parts;
    const isSame = (page: PageQuestion): boolean => {
      if (isKeyturnApp || page.starter?.by !== 'app') {
        const isOwn = starter?.by === 'command' && isStartedBy(page, starter.connection);
        return page.account === account && (isOwn || !isKeyturnApp);
      }
      const { isNewClient, scope, issuer } = asked;
      if (isNewClient || scope || issuer !== undefined) return false;
      // Who names no account takes the one that the app waits for.
      return account === undefined || page.account === account;
    };
    return approvalRequests
      .list()
      .flatMap(({ question }) => (question.kind === 'signIn' ? [question] : []))
      .find(
        (page) =>
          page.endpoint === endpoint &&
          (page.query ?? '') === query &&
          (page.startUrl !== undefined) === (method === 'browser') &&
          isSame(page),
      );
  }

  async #atOnce(request: SignInRequest, signal: AbortSignal): Promise<SignIn> {
    const signIn = await this.#signIn(request, (work) => work(nothing, nothing), signal);
    for (const account of [undefined, signIn.account]) this.#endAutomatic({ ...request, account });
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
