/**
 * The sign-ins under way: those that requests start automatically, and those that the user starts.
 *
 * Invariants (5, dev/internals.md): at most one automatic page is open. It opens only if an app still waits for it
 * and may still have what it asks for; once that ends, it closes. After a failed page none opens for its endpoint until
 * the user acts. After a page that all its apps left, the endpoint's next one waits. While the user signs in, no
 * automatic page is open for that endpoint and account: the user's sign-in replaces it, asks for its scopes too unless
 * it names its own, and its request looks again afterwards. An app never names the account of the user's sign-in.
 */
import type { BrokerParts } from '../parts.ts';
import { untilAborted } from '../../base/abort.ts';
import { type KeyturnError, reasonOf } from '../../base/errors.ts';
import { ScopeRefused } from '../../oauth/grants/authorization-failure.ts';
import { accountLabel, isLiving, isShared } from '../records/sign-in.ts';
import type { SignIn } from '../records/sign-in.ts';
import { anotherPageFirst, PageTimedOut, refusalAtDeadline } from '../refusals/pending-refusals.ts';
import { retryBeforeSignIn } from '../revocation/revoker.ts';
import { mayBeAboutScope } from './asked-scope.ts';
import { PageQueue, PageReplaced } from './page-queue.ts';
import { SharedWork, type Start } from '../../base/shared-work.ts';
import { runSignIn } from './run-sign-in.ts';
import { isMeant } from './sign-in-account.ts';
import type { OnPage, SignInRequest } from './sign-in-context.ts';
import type { PageQuestion } from '../approval-requests/question.ts';

type AutomaticSignIn = Omit<SignInRequest, 'isAutomatic' | 'method' | 'starter' | 'isChoosing'>;
type UserSignIn = Omit<SignInRequest, 'isAutomatic' | 'mayNotAsk' | 'isChoosing'>;

interface UnderWay {
  readonly key: string;
  readonly request: SignInRequest;
  readonly withdraw: () => void;
  /** Ends without an error. */
  readonly over: Promise<unknown>;
}

export class SignInRuns {
  readonly #parts: BrokerParts;
  readonly #runs = new SharedWork<SignIn>();
  readonly pages: PageQueue;
  readonly #underWay = new Set<UnderWay>();
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

  /** Under a permission. Throws `PageReplaced` when the page is no longer needed: look at the sign-in again. */
  async automatic(asked: AutomaticSignIn, caller: AbortSignal): Promise<SignIn> {
    const request = { ...asked, method: 'browser', isAutomatic: true, starter: { by: 'app' } } as const;
    const byUser = this.#alike(asked).find((one) => !one.request.isAutomatic);
    if (byUser && !asked.mayNotAsk) {
      await untilAborted(byUser.over, caller);
      throw new PageReplaced(asked.endpoint);
    }
    const key = keyOfAutomatic(asked);
    const start: Start<SignIn> = (...run) => this.#start(key, request, ...run);
    return this.#runs.join(key, start, caller);
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
    const joined = this.#runs.has(key) ? [...this.#underWay].findLast((one) => one.key === key) : undefined;
    const page = joined && this.#pageOf(joined.request);
    // A user who wants a new client has seen the open page. If nobody waits for it any more, it may have shown an
    // error.
    if (isNewClient || (page?.ifForgotten === 'register' && !this.#runs.isAwaited(key))) page?.showsError();
    if (asked.starter) joined?.request.starters?.add(asked.starter);
    if (joined) this.#parts.approvalRequests.changed();
    const start: Start<SignIn> = (...run) => this.#start(key, this.#takeOver(asked), ...run);
    return this.#runs.join(key, start, caller).catch((error: unknown) => {
      // The other caller's page is over: this caller gets a new page.
      if (joined && error instanceof PageTimedOut) return this.#runs.join(key, start, caller);
      throw error;
    });
  }

  /** What an app may do has changed: closes the pages for what it may no longer have. Their requests look again. */
  permissionsChanged(): void {
    for (const { request, withdraw } of this.#underWay)
      if (hasPage(request) && !request.isAllowed?.()) withdraw();
  }

  /** Who names no account renews the sign-in that an app waits for, unless another issuer is named. */
  #takeOver(asked: UserSignIn): SignInRequest {
    const isOpen = asked.account === undefined && asked.issuer === undefined;
    const renewed = isOpen ? this.#renewedAt(asked) : undefined;
    const account = renewed ? accountLabel(renewed) : asked.account;
    const waiting = this.#waiting({ ...asked, account });
    for (const { withdraw } of waiting) withdraw();
    const served = waiting.filter(({ request }) => request.account === account && request.isAllowed?.());
    return {
      ...asked,
      account,
      signInId: renewed && isShared(renewed) ? renewed.id : undefined,
      starters: new Set(asked.starter ? [asked.starter] : []),
      waiting:
        asked.issuer === undefined && asked.scope === undefined ? served.map((one) => one.request) : [],
      isAutomatic: false,
      mayNotAsk: false,
    };
  }

  /** A name for which there is no sign-in is the app's word, so it isn't taken. */
  #renewedAt(asked: UserSignIn): SignIn | undefined {
    return this.#waiting(asked)
      .filter(({ request }) => request.isAllowed?.())
      .flatMap(({ request }) => this.#parts.signIns.byId(request.signInId ?? '') ?? [])
      .find(isLiving);
  }

  async #start(
    key: string,
    request: SignInRequest,
    signal: AbortSignal,
    isAwaited: () => boolean,
  ): Promise<SignIn> {
    const end = new AbortController();
    const either = AbortSignal.any([signal, end.signal]);
    const onPage: OnPage = (work) =>
      request.isAutomatic ? this.#inTurn(request, either, isAwaited, work) : work(nothing, nothing);
    const run = this.#signIn(request, onPage, either);
    const underWay: UnderWay = {
      key,
      request,
      withdraw: () => end.abort(new PageReplaced(request.endpoint)),
      over: run.catch(nothing).finally(() => this.#underWay.delete(underWay)),
    };
    this.#underWay.add(underWay);
    return run;
  }

  #inTurn(
    { endpoint, isStepUp, isAllowed }: SignInRequest,
    signal: AbortSignal,
    isAwaited: () => boolean,
    work: Parameters<OnPage>[0],
  ): Promise<SignIn> {
    return this.pages.run(
      endpoint,
      signal,
      (opened, closed) => {
        if (!isAwaited() || !isAllowed?.()) throw new PageReplaced(endpoint);
        return work(opened, closed);
      },
      // The user can do nothing about a scope that an app mistyped, and the step-ups are bounded.
      (error) => !(isStepUp && error instanceof ScopeRefused),
    );
  }

  /** What may be for the same account. */
  #alike({ endpoint, account }: Pick<SignInRequest, 'endpoint' | 'account'>): UnderWay[] {
    return [...this.#underWay].filter(
      ({ request }) =>
        request.endpoint === endpoint &&
        (request.account === account || request.account === undefined || account === undefined),
    );
  }

  #waiting(asked: Pick<SignInRequest, 'endpoint' | 'account'>): UnderWay[] {
    return this.#alike(asked).filter(({ request }) => hasPage(request));
  }

  #pageOf({ endpoint, starters }: SignInRequest): PageQuestion | undefined {
    return this.#parts.approvalRequests
      .list()
      .flatMap(({ question }) => (question.kind === 'signIn' ? [question] : []))
      .find((page) => page.endpoint === endpoint && page.starters === starters);
  }

  /** After another account the next page asks which one is meant; once, since a server may fail on that. */
  async #signIn(request: SignInRequest, onPage: OnPage, signal: AbortSignal): Promise<SignIn> {
    const { endpoint } = request;
    const isChoosing = this.#wrongAccount.delete(endpoint);
    await untilAborted(retryBeforeSignIn(this.#parts, endpoint), signal);
    try {
      const run = async (waiting: SignInRequest['waiting']): Promise<SignIn> =>
        runSignIn(this.#parts, { ...request, waiting, isChoosing }, onPage, signal);
      // An app's scopes that the server refuses, or no page can show, must not keep the user from signing in.
      const signIn = await run(request.waiting).catch(async (error: unknown) => {
        if (request.waiting?.length && mayBeAboutScope(error)) return run([]);
        throw error;
      });
      if (!isMeant(request, signIn)) this.#wrongAccount.add(endpoint);
      return signIn;
    } catch (error) {
      if (reasonOf(error) === 'account_mismatch') this.#wrongAccount.add(endpoint);
      throw error;
    }
  }
}

/** An automatic sign-in that has a page, or will have one. */
const hasPage = ({ isAutomatic, mayNotAsk }: SignInRequest): boolean => isAutomatic && !mayNotAsk;

const nothing = (): void => undefined;

/** An app that may ask the user doesn't share the refusal of one that may not. */
function keyOfAutomatic({ endpoint, query = '', account, ...asked }: AutomaticSignIn): string {
  const { mayNotAsk, signInId = '', onlyFor = '' } = asked;
  return `${mayNotAsk ? 'silent' : 'asking'} ${signInId} ${onlyFor} ${endpoint}${query} ${account ?? ''}`;
}
