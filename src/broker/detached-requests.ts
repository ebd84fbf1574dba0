/**
 * Requests that the broker goes on with once their time is over, because their app can't wait as long as the user
 * takes: from the question to the sign-in. The app asks again, and finds what came of it.
 *
 * Invariants: who asks has proved a key, and what is allowed is allowed to that key alone. A request ends after ten
 * minutes, with its app's pairing, or when the app's permission for that server is revoked. An app that leaves before its
 * time is over withdraws its question.
 */
import { reasonOf, type Reason } from '../base/errors.ts';
import { questionTimeout } from './approval-requests/approval-requests.ts';
import type { TokenRequest } from './request.ts';
import type { MaybePromise } from './maybe-promise.ts';

/** What a request whose time is over is answered with. */
const late: readonly Reason[] = ['consent_pending', 'login_pending', 'authorization_server_unreachable'];

/** Of one app: as many as it may have cards. One more ends when its time is over. */
const maxPerApp = 8;

interface DetachedRequest {
  readonly appId: string;
  readonly resource: string;
  readonly over: AbortController;
}

type Ask<Answer> = (request: TokenRequest) => MaybePromise<Answer>;

export class DetachedRequests {
  /** By what is asked for: processes of one app that ask for the same have one. */
  readonly #open = new Map<string, DetachedRequest>();

  async ask<Answer>(request: TokenRequest, ask: Ask<Answer>): Promise<Answer> {
    try {
      return await ask(request);
    } catch (error) {
      const isLate = request.interaction === 'allow' && late.includes(reasonOf(error));
      if (isLate && !request.signal.aborted) this.#goOn(request, ask);
      throw error;
    }
  }

  /** `isMeant`: of the resource as the app named it. */
  endAllOf(appId: string, isMeant: (resource: string) => boolean = () => true): void {
    for (const one of this.#open.values()) if (one.appId === appId && isMeant(one.resource)) one.over.abort();
  }

  #goOn(request: TokenRequest, ask: Ask<unknown>): void {
    const { appId, appProcess, resource, scope = [], account = '' } = request;
    const key = JSON.stringify([appId, resource, scope.toSorted(), account]);
    const own = [...this.#open.values()].filter((one) => one.appId === appId);
    if (this.#open.has(key) || own.length >= maxPerApp) return;
    const over = new AbortController();
    this.#open.set(key, { appId, resource, over });
    // The process may be gone at the next card, which shows what it was.
    const seen = appProcess?.currentFacts();
    const without: TokenRequest = {
      ...request,
      appProcess: appProcess && seen && { run: appProcess.run, currentFacts: () => seen },
      timeout: questionTimeout,
      isCallerGone: true,
      signal: over.signal,
    };
    const run = async (): Promise<unknown> => ask(without);
    run()
      .catch(() => undefined)
      .finally(() => this.#open.delete(key));
  }
}
