/**
 * Which of its accounts an app uses at a server if the request doesn't say it: the user is asked once.
 *
 * Invariants: a choice is among accounts that the app may use already, and gives no new access. If the user
 * allowed the app without naming an account, the choice is among those that are signed in, and the app may then
 * use the chosen one only. An approval is stored before it takes effect; no other answer is stored, and each makes the app's next
 * question wait longer.
 */
import type { KeyturnError } from '../base/errors.ts';
import { SharedWork } from '../base/shared-work.ts';
import { RequestWaits } from './consent/request-waits.ts';
import type { Consent } from './consent/consent.ts';
import { runOf } from './consent/current-permissions.ts';
import { signInsOfChoice } from './consent/sign-in-choice.ts';
import type { BrokerParts } from './parts.ts';
import type { BegunRequest } from './request.ts';
import type { Decision } from './approval-requests/answer.ts';
import { askUser } from './approval-requests/approval-requests.ts';
import { namesAnySignIn, namesSignIn, type Permission } from './records/permission.ts';
import * as accountRefusals from './refusals/account-refusals.ts';
import { askedTooSoon } from './refusals/permission-refusals.ts';

export class AccountChoices {
  readonly #parts: BrokerParts;
  readonly #consent: Consent;
  readonly #questions = new SharedWork<void>();
  /** By app. */
  readonly #waits: RequestWaits;

  constructor(parts: BrokerParts, consent: Consent) {
    this.#parts = parts;
    this.#consent = consent;
    this.#waits = new RequestWaits(() => parts.clock.now());
  }

  /** Withdraws the questions and refuses new ones with `reason`. Resolves when the answers that came are on disk. */
  async end(reason: KeyturnError): Promise<void> {
    await this.#questions.end(reason);
  }

  /**
   * Resolves once the user has chosen one of the accounts for this app and server. Throws `account_required`
   * where nobody may be asked or nobody chose, `login_required` if the chosen account ended meanwhile,
   * `conflict` if the permission changed meanwhile, `rate_limited`, and the deadline's reason.
   */
  async choose(begun: BegunRequest, permission: Permission, accounts: readonly string[]): Promise<void> {
    const { endpoint, wanted, deadline } = begun;
    const app = this.#parts.apps.nameOf(wanted.appId);
    const asked = { name: app, endpoint, isNamed: namesAnySignIn(permission) };
    const required = accountRefusals.accountRequired(asked, accounts);
    if (wanted.interaction === 'never') throw required;
    const key = JSON.stringify([wanted.appId, endpoint, runOf(wanted), ...accounts]);
    await this.#questions.join(
      key,
      async (signal) => {
        const { verdict, account } = await this.#ask(begun, accounts, signal);
        if (verdict !== 'approve' || account === undefined) throw required;
        const there = this.#parts.signIns.forEndpoint(endpoint, account);
        const signInIds = namesAnySignIn(permission)
          ? undefined
          : signInsOfChoice(there, permission, account);
        // Else the account that is left would serve.
        if (signInIds?.length === 0) throw accountRefusals.chosenEnded(endpoint, account);
        await this.#consent.changes.choose(permission, account, signInIds);
        const signIn = there.find(({ id }) => signInIds?.includes(id) ?? namesSignIn(permission, id))?.id;
        await this.#parts.audit.record({ event: 'account', outcome: 'chosen', app, endpoint, signIn });
      },
      deadline.signal,
    );
  }

  async #ask(
    { endpoint, wanted: { appId, appProcess: process } }: BegunRequest,
    accounts: readonly string[],
    signal: AbortSignal,
  ): Promise<Decision> {
    const { apps } = this.#parts;
    const appName = apps.nameOf(appId);
    const retryAfter = this.#waits.left(appId);
    if (retryAfter > 0) throw askedTooSoon(appName, retryAfter);
    const appProcess = process?.currentFacts();
    const proxied = apps.isProxied(appId) || undefined;
    const question = { kind: 'choice', appId, appName, endpoint, accounts, appProcess, proxied } as const;
    const decision = await askUser(this.#parts, question, signal).catch((error: unknown) => {
      if (signal.aborted) this.#waits.lengthen(appId, endpoint);
      throw error;
    });
    if (decision.verdict === 'approve') this.#waits.end(appId);
    else this.#waits.lengthen(appId, endpoint);
    return decision;
  }
}
