/** What a host asks of the broker. token-requests.ts answers token requests, and has the invariants. */
import { DeadlineExceeded, RequestDeadline } from '../base/request-deadline.ts';
import { asTyped, endpointOf, exactEndpoint, queryOf } from '../oauth/base/resource.ts';
import { SilentAboutPkce } from '../oauth/discovery/authorization-server.ts';
import { RegistrationRequired } from '../oauth/client/registration.ts';
import { AccountChoices } from './account-choices.ts';
import { DetachedRequests } from './detached-requests.ts';
import { Consent } from './consent/consent.ts';
import type { BrokerParts } from './parts.ts';
import { isAskedBy, type PageQuestion } from './approval-requests/question.ts';
import type { SignInMethod, Starter } from './approval-requests/starter.ts';
import { ApiKeyRequests } from './api-key-requests.ts';
import { namesBeside } from './records/sign-ins.ts';
import type { SignIn } from './records/sign-in.ts';
import { brokerStopping, noSuchSignIn } from './refusals/refusals.ts';
import { Rejections } from './rejections.ts';
import { Proofs } from './proofs.ts';
import { findDestination, requireSignIn } from './destination/destination.ts';
import { RequestSignIns } from './request-sign-ins.ts';
import { ShownUrls, type UrlAction, type UrlRequest } from './shown-urls.ts';
import { dropWithoutCompany } from './sign-in/unattended/company-session.ts';
import { SignInRuns } from './sign-in/sign-in-runs.ts';
import { TokenRequests } from './token-requests.ts';

/** Servers that the user tried to sign in at. Beyond that all are forgotten, and the user names the issuer. */
const maxShownIssuers = 100;

export interface LoginRequest {
  readonly resource: string;
  readonly scope?: readonly string[];
  readonly account?: string;
  readonly issuer?: string;
  /** Registers a new client, even if one is registered there already. */
  readonly isNewClient?: boolean;
  readonly method: SignInMethod;
  readonly starter?: Starter;
  /** Milliseconds. */
  readonly timeout: number;
  readonly signal: AbortSignal;
}

export class Broker {
  readonly parts: BrokerParts;
  readonly consent: Consent;
  readonly tokenRequests: TokenRequests;
  readonly keyRequests: ApiKeyRequests;
  readonly rejections: Rejections;
  readonly proofs: Proofs;
  readonly detached = new DetachedRequests();
  readonly #signInRuns: SignInRuns;
  readonly #requestSignIns: RequestSignIns;
  readonly #shownUrls: ShownUrls;
  readonly #accountChoices: AccountChoices;
  /** By endpoint, the issuer that was shown to the user last: it may get the secret of a client of theirs. */
  readonly #shownIssuers = new Map<string, string>();

  constructor(parts: BrokerParts) {
    this.parts = parts;
    this.consent = new Consent(parts);
    this.#signInRuns = new SignInRuns(parts);
    this.#requestSignIns = new RequestSignIns(parts, this.consent, this.#signInRuns);
    this.rejections = new Rejections(parts);
    this.#shownUrls = new ShownUrls(parts);
    this.#accountChoices = new AccountChoices(parts, this.consent);
    this.tokenRequests = new TokenRequests({
      brokerParts: parts,
      consent: this.consent,
      requestSignIns: this.#requestSignIns,
      rejections: this.rejections,
      accountChoices: this.#accountChoices,
    });
    this.keyRequests = new ApiKeyRequests(parts, this.consent);
    this.proofs = new Proofs(parts);
    // Race: a request looks for the company's sign-in only when it finds no token in memory.
    parts.signIns.watch(() => dropWithoutCompany(parts));
    parts.permissions.watch(() => this.#signInRuns.permissionsChanged());
  }

  /** Refuses what waits for the user. Resolves when rotations and sign-ins under way have their tokens in the vault. */
  async end(): Promise<void> {
    const reason = brokerStopping();
    const signIns = this.#signInRuns.end(reason);
    const questions = this.consent.end(reason);
    const choices = this.#accountChoices.end(reason);
    this.parts.approvalRequests.end(reason);
    await Promise.all([signIns, questions, choices]);
    await this.parts.refresher.settled();
  }

  /** The app is unpaired, or its way here has ended: nobody could use what an approval would give. */
  withdrawAllOf(appId: string): void {
    this.detached.endAllOf(appId);
    this.parts.approvalRequests.withdrawAllOf(appId);
  }

  /**
   * The user revoked what the app may do there: what it still asks is answered with a refusal, and it may ask again.
   * `target`: the endpoint, or for an API key what its permission is stored under.
   */
  withdrawAt(appId: string, target: string): void {
    const { apiKeys, approvalRequests } = this.parts;
    const key = apiKeys.shownOf(target);
    // Its URL was accepted when it was asked for, whatever the settings say now.
    const policy = { allowInsecureLoopback: true };
    this.detached.endAllOf(appId, (resource) =>
      key ? exactEndpoint(resource, policy) === key.endpoint : endpointOf(resource, policy) === target,
    );
    for (const { id, question } of approvalRequests.list())
      if (isAskedBy(question, appId, target)) approvalRequests.answer(id, 'dismiss');
  }

  /** The canonical endpoint for what a user typed. Throws `invalid_resource`. */
  canonical(resource: string): string {
    return endpointOf(resource, this.parts.urlPolicy);
  }

  /** The same with its query, for what belongs to one URL only: an API key, a proxy. Throws `invalid_resource`. */
  exact(resource: string): string {
    return exactEndpoint(resource, this.parts.urlPolicy);
  }

  /** An MCP server asks the user to open an address. Throws as `ShownUrls.show`, `paused`, and `invalid_resource`. */
  async showUrl(request: UrlRequest): Promise<UrlAction> {
    this.parts.pause.throwIfPaused();
    return this.#shownUrls.show(request, this.canonical(request.resource));
  }

  /** The user signs in on purpose: earlier failures and limits of this endpoint are forgotten. */
  async login({ resource, timeout, signal, ...asked }: LoginRequest): Promise<SignIn> {
    const endpoint = this.canonical(resource);
    this.consent.userActed(endpoint);
    this.userActed(endpoint);
    const deadline = new RequestDeadline(this.parts.clock, timeout, signal);
    try {
      const beside = namesBeside(this.parts.signIns, endpoint, asked.account);
      return await this.#signInRuns.byUser(
        { endpoint, typed: asTyped(resource), query: queryOf(resource), ...asked, ...beside },
        deadline.signal,
      );
    } catch (error) {
      if (error instanceof RegistrationRequired || error instanceof SilentAboutPkce)
        this.#show(endpoint, error.issuer);
      throw error instanceof DeadlineExceeded ? this.#signInRuns.refusalAtDeadline({ endpoint }) : error;
    } finally {
      deadline.end();
    }
  }

  /** Where a sign-in would go. `wasShown`: a refusal, or this method, named it last. Throws as discovery. */
  async issuerOf(
    asked: Pick<LoginRequest, 'resource' | 'issuer'>,
  ): Promise<{ issuer: string; wasShown: boolean }> {
    const endpoint = this.canonical(asked.resource);
    const issuer = await this.#issuerAt(endpoint, asked);
    const wasShown = this.#shownIssuers.get(endpoint) === issuer;
    this.#show(endpoint, issuer);
    return { issuer, wasShown };
  }

  async #issuerAt(
    endpoint: string,
    { resource, issuer }: Pick<LoginRequest, 'resource' | 'issuer'>,
  ): Promise<string> {
    const method = 'browser';
    try {
      const asked = { endpoint, typed: asTyped(resource), issuer, method } as const;
      const { server } = await findDestination(this.parts, asked);
      requireSignIn(this.parts, server, asked);
      return server.issuer;
    } catch (error) {
      if (error instanceof RegistrationRequired) return error.issuer;
      throw error;
    }
  }

  #show(endpoint: string, issuer: string): void {
    if (this.#shownIssuers.size >= maxShownIssuers) this.#shownIssuers.clear();
    this.#shownIssuers.set(endpoint, issuer);
  }

  /** The sign-in that waits at a page, to be given the address where the page led. Throws `not_found`. */
  signInPage(id: string): PageQuestion {
    const question = this.parts.approvalRequests.find(id)?.question;
    if (question?.kind !== 'signIn') throw noSuchSignIn();
    return question;
  }

  userActed(endpoint: string): void {
    this.#signInRuns.pages.userActed(endpoint);
    this.#requestSignIns.userActed(endpoint);
    for (const signIn of this.parts.signIns.shownFor(endpoint)) this.rejections.limits.clear(signIn.id);
  }
}
