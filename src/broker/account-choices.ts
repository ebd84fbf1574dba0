/**
 * Which of its accounts a program uses at a server, where the request doesn't say it, or only a project file does: the
 * person is asked once.
 *
 * Invariants: a choice is among accounts that the program may use already, and gives no new access. If the person
 * allowed the program without naming an account, the choice is among those that are signed in, and the program may then
 * use the chosen one only. What a project file names counts only after a yes for that folder, server and account. A yes
 * is kept before it counts; a no and a "later" are not kept, and make the program's next question wait longer.
 */
import type { KeyturnError } from '../base/errors.ts';
import { SharedWork } from '../base/shared-work.ts';
import { CardPauses } from './consent/card-pauses.ts';
import type { Consent } from './consent/consent.ts';
import { chooseGrant, grantsOfChoice } from './consent/grant-choice.ts';
import type { BrokerParts } from './parts.ts';
import type { PendingRequest } from './pending-request.ts';
import type { Decision } from './questions/answer.ts';
import { answerInTime } from './questions/answer-in-time.ts';
import { isLiving } from './records/grant.ts';
import type { Grant } from './records/grant.ts';
import { cliClientId } from './records/local-client.ts';
import { isBound, namesGrant } from './records/permission.ts';
import type { Permission } from './records/permission.ts';
import * as accountRefusals from './refusals/account-refusals.ts';
import * as refusals from './refusals/refusals.ts';

/** What a project file chooses. */
interface Project {
  /** As it is recorded and shown. */
  readonly folder: string;
  readonly mark: string;
  readonly account: string;
}

export class AccountChoices {
  readonly #parts: BrokerParts;
  readonly #consent: Consent;
  readonly #questions = new SharedWork<void>();
  /** By local client. */
  readonly #pauses: CardPauses;

  constructor(parts: BrokerParts, consent: Consent) {
    this.#parts = parts;
    this.#consent = consent;
    this.#pauses = new CardPauses(() => parts.clock.now());
  }

  /** Withdraws the questions and refuses new ones with `reason`. Resolves when the answers that came are on disk. */
  async end(reason: KeyturnError): Promise<void> {
    await this.#questions.end(reason);
  }

  /**
   * Resolves where no project file chose the account, or the person confirmed that it does. Throws `consent_required`
   * where the program may not use the account or nobody confirmed it, `consent_denied`, `rate_limited`, and the
   * deadline's reason.
   */
  async requireFolder(pending: PendingRequest): Promise<void> {
    const project = this.#projectOf(pending);
    if (!project) return;
    const { endpoint, access, deadline } = pending;
    const grant = await this.#permitted(pending, project);
    const { folder, mark, account } = project;
    if (this.#parts.folders.has({ folder, mark, endpoint, account })) return;
    if (access.interaction === 'never')
      throw accountRefusals.folderUnconfirmed(this.#named(pending, project));
    const key = JSON.stringify(['folder', ...this.#askerOf(pending), folder, mark, account]);
    await this.#questions.join(
      key,
      (signal) => this.#confirm(pending, { project, grant }, signal),
      deadline.signal,
    );
    // Race: the permission may have ended while the person was asked. Then nobody is asked for another one.
    await this.#permitted(pending, project);
  }

  /** Throws `consent_required` where a project file chose the account, which no permission names. */
  refuseOther(pending: PendingRequest): void {
    const project = this.#projectOf(pending);
    if (project) throw this.#namesOther(pending, project);
  }

  #namesOther(pending: PendingRequest, project: Project): KeyturnError {
    const { access, endpoint } = pending;
    const permissions = this.#consent.current.all(access);
    const there = this.#parts.grants.forEndpoint(endpoint);
    const permitted = accountsOf(
      there.filter(({ id }) => permissions.some((permission) => namesGrant(permission, id))),
    );
    const signedIn = accountsOf(there.filter(isLiving));
    const named = this.#named(pending, project);
    // A program doesn't learn here whether somebody is signed in as the account. The command line is the owner's.
    return access.clientId !== cliClientId || signedIn.includes(project.account)
      ? accountRefusals.folderNamesOther(named, permitted)
      : accountRefusals.folderNamesUnknown(named, signedIn);
  }

  /**
   * Resolves once the person has chosen one of the accounts for this program and server. Throws `account_required`
   * where nobody may be asked or nobody chose, `login_required` where the chosen account ended meanwhile,
   * `conflict` where the permission changed meanwhile, `rate_limited`, and the deadline's reason.
   */
  async choose(pending: PendingRequest, permission: Permission, accounts: readonly string[]): Promise<void> {
    const { endpoint, access, deadline } = pending;
    const name = this.#parts.clients.nameOf(access.clientId);
    const asked = { name, endpoint, isNamed: isBound(permission) };
    const required = accountRefusals.accountRequired(asked, accounts);
    if (access.interaction === 'never') throw required;
    const key = JSON.stringify(['accounts', ...this.#askerOf(pending), ...accounts]);
    await this.#questions.join(
      key,
      async (signal) => {
        const { verdict, account } = await this.#ask(pending, { accounts }, signal);
        if (verdict !== 'yes' || account === undefined) throw required;
        const { grants, refresher } = this.#parts;
        const there = grants.forEndpoint(endpoint, account);
        const { comparison } = refresher.secrets;
        const bound = isBound(permission)
          ? undefined
          : grantsOfChoice({ there, comparison }, permission, account);
        // Else the account that is left would serve.
        if (bound?.length === 0) throw accountRefusals.chosenEnded(endpoint, account);
        await this.#consent.changes.choose(permission, account, bound);
        const used = there.find(({ id }) => bound?.includes(id) ?? namesGrant(permission, id));
        await this.#record(pending, 'chosen', used);
      },
      deadline.signal,
    );
  }

  /** The grant of the account that the file names, which the program may use. */
  async #permitted(pending: PendingRequest, project: Project): Promise<Grant> {
    const { endpoint, access } = pending;
    const { grants, refresher } = this.#parts;
    const { comparison } = refresher.secrets;
    const there = grants.forEndpoint(endpoint);
    // What the index says of a grant counts only where the vault says so too.
    if (!comparison.areCompared(there)) await refresher.compareWithVault(there);
    const parts = { there: grants.forEndpoint(endpoint), comparison };
    const choice = chooseGrant(parts, access, this.#consent.current.all(access));
    if (choice.kind !== 'use') throw this.#namesOther(pending, project);
    return choice.grant;
  }

  async #confirm(
    pending: PendingRequest,
    { project, grant }: { readonly project: Project; readonly grant: Grant },
    signal: AbortSignal,
  ): Promise<void> {
    const { folder, mark, account } = project;
    const { verdict } = await this.#ask(pending, { accounts: [account], folder }, signal);
    if (verdict === 'no') {
      await this.#record(pending, 'refused', grant, folder);
      throw accountRefusals.folderRefused(this.#named(pending, project));
    }
    if (verdict !== 'yes') throw accountRefusals.folderUnconfirmed(this.#named(pending, project));
    const { clock, folders } = this.#parts;
    await folders.add({ folder, mark, endpoint: pending.endpoint, account, confirmedAt: clock.wall() });
    await this.#record(pending, 'confirmed', grant, folder);
  }

  async #ask(
    { endpoint, access: { clientId, asker: process } }: PendingRequest,
    about: { readonly accounts: readonly string[]; readonly folder?: string },
    signal: AbortSignal,
  ): Promise<Decision> {
    const { clients } = this.#parts;
    const clientName = clients.nameOf(clientId);
    const retryAfter = this.#pauses.left(clientId);
    if (retryAfter > 0) throw refusals.askedTooSoon(clientName, retryAfter);
    const asker = process?.look();
    const question = { kind: 'choice', clientId, clientName, endpoint, ...about } as const;
    const shown = { ...question, ...(asker === undefined ? {} : { asker }) };
    const decision = await answerInTime(this.#parts, shown, signal).catch((error: unknown) => {
      if (signal.aborted) this.#pauses.lengthen(clientId, endpoint);
      throw error;
    });
    if (decision.verdict === 'yes') this.#pauses.end(clientId);
    else this.#pauses.lengthen(clientId, endpoint);
    return decision;
  }

  async #record(
    { endpoint, access: { clientId } }: PendingRequest,
    outcome: 'chosen' | 'confirmed' | 'refused',
    grant: Grant | undefined,
    folder?: string,
  ): Promise<void> {
    await this.#parts.audit.record({
      event: 'account',
      outcome,
      client: this.#parts.clients.nameOf(clientId),
      endpoint,
      ...(grant === undefined ? {} : { grant: grant.id }),
      ...(folder === undefined ? {} : { folder }),
    });
  }

  #projectOf({ request: { clientId, account, chosenBy } }: PendingRequest): Project | undefined {
    if (!chosenBy || account === undefined) return undefined;
    const folder = placeOf(this.#parts, clientId, chosenBy.folder);
    // Another host key under the same label is another machine.
    const hostKey = this.#parts.clients.originOf(clientId)?.hostKey;
    const mark = hostKey === undefined ? chosenBy.mark : `${hostKey} ${chosenBy.mark}`;
    return { folder, mark, account };
  }

  #named(
    { endpoint, access: { clientId } }: PendingRequest,
    { folder, account }: Project,
  ): accountRefusals.NamedByFolder {
    return { name: this.#parts.clients.nameOf(clientId), endpoint, folder, account };
  }

  /** Commands come and go: they share one question. */
  #askerOf({ endpoint, access: { clientId, asker } }: PendingRequest): string[] {
    return [clientId, endpoint, clientId === cliClientId ? '' : (asker?.run ?? '')];
  }
}

const accountsOf = (grants: readonly Grant[]): string[] => [...new Set(grants.map(({ account }) => account))];

/** A path at the far end of a forward is of another machine. */
export function placeOf({ clients }: Pick<BrokerParts, 'clients'>, clientId: string, folder: string): string {
  const origin = clients.originOf(clientId);
  return origin === undefined ? folder : `${origin.label}:${folder}`;
}
