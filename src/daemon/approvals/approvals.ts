/**
 * Asks the user before a command gives somebody more access, if a user sits at the broker.
 *
 * Invariants: a request that widens access runs only after an approval to its own card. The process that asked must
 * still be the one that the card showed, and a permission is set only as the card showed it. The request is checked
 * before the card appears, without a wait. No answer is remembered. If the broker ends first, no other broker is asked.
 * Each denied card makes the next one wait longer, so that no app can fill the screen with cards.
 */
import type { AuditRow } from '../../audit/audit-row.ts';
import type { Verdict } from '../../broker/approval-requests/answer.ts';
import { RequestWaits } from '../../broker/consent/request-waits.ts';
import { askUser } from '../../broker/approval-requests/approval-requests.ts';
import type { Broker } from '../../broker/broker.ts';
import { KeyturnError, reasonOf } from '../../base/errors.ts';
import type { MethodName, ParamsOf, WideningMethod } from '../../ipc/protocol/methods.ts';
import type { Caller } from '../../ipc/server/server.ts';
import type { AppProcesses } from '../apps/app-processes.ts';
import { commandApprovalFor, type CommandApprovalParts } from './widening-methods.ts';
import { keyPlace, permissionChange, type CommandApproval, type PermissionChange } from './widening.ts';

/** One pause for all commands: they come and go, and their names prove nothing. */
const waitKey = 'command';

export class Approvals {
  readonly #parts: CommandApprovalParts & { readonly processes: AppProcesses };
  readonly #waits: RequestWaits;

  constructor(parts: CommandApprovalParts & { readonly processes: AppProcesses }) {
    this.#parts = parts;
    this.#waits = new RequestWaits(() => parts.broker.parts.clock.now());
  }

  /**
   * Resolves once the user approved it, and at once for what widens nothing; for `permission.set` and
   * `apiKey.permission.set` with what was judged, at the moment of the card. `params` have passed their
   * schema. Throws what the method would throw for them, `consent_denied` also when the broker ends, `rate_limited`, and
   * `interrupted` when the command went away.
   */
  async require(
    caller: Caller,
    method: WideningMethod,
    params: unknown,
  ): Promise<PermissionChange | undefined> {
    const request = commandApprovalFor(this.#parts, method, params);
    const change = permissionChangeOf(this.#parts.broker, method, params);
    if (!request) return change;
    this.#refuseTooSoon();
    const verdict = await this.#ask(caller, request).catch((error: unknown) => {
      this.#waits.lengthen(waitKey);
      // The next broker may have no window to ask in: a command that is told `broker_stopping` would ask that one.
      throw reasonOf(error) === 'broker_stopping'
        ? notCarriedOut('the app ended before you approved it')
        : error;
    });
    await this.#record(request, verdict);
    if (verdict === 'approve') {
      this.#waits.end(waitKey);
      return change;
    }
    this.#waits.lengthen(waitKey);
    throw notApproved(verdict);
  }

  async #ask(caller: Caller, request: CommandApproval): Promise<Verdict> {
    const { broker, processes } = this.#parts;
    const appProcess = processes.of(caller).currentFacts();
    return (await askUser(broker.parts, { kind: 'command', request, appProcess }, caller.signal)).verdict;
  }

  /** The change has a row of its own in the audit log. This row says that a command asked for it. */
  async #record(request: CommandApproval, verdict: Verdict): Promise<void> {
    const outcome = `${commandName(request)}: ${verdict}`;
    await this.#parts.broker.parts.audit.record({ event: 'command', outcome, ...placeOf(request) });
  }

  #refuseTooSoon(): void {
    const retryAfter = this.#waits.left(waitKey);
    if (retryAfter === 0) return;
    throw new KeyturnError('rate_limited', 'A command was denied in Keyturn’s window a moment ago.', {
      rule: 'Each denied or withdrawn card of a command doubles the pause, from 1 s to 5 min',
      hint: 'Wait, then run it again; or do it in Keyturn’s window.',
      retryAfter,
    });
  }
}

/** `params` have passed the method's schema. */
function permissionChangeOf(
  broker: Broker,
  method: MethodName,
  params: unknown,
): PermissionChange | undefined {
  if (method === 'permission.set') return permissionChange(broker, params as ParamsOf<'permission.set'>);
  if (method === 'apiKey.permission.set')
    return permissionChange(broker, params as ParamsOf<'apiKey.permission.set'>, keyPlace);
  return undefined;
}

/** The row says so where it is about an API key. */
function commandName({ command, apiKey }: CommandApproval): string {
  return apiKey && command !== 'apiKey' ? `${command} key` : command;
}

function placeOf(request: CommandApproval): Pick<AuditRow, 'app' | 'endpoint' | 'issuer'> {
  const { command, app, resource, server, issuer } = request;
  // A new proxy is no app yet.
  return { app: command === 'proxy' ? undefined : app, endpoint: resource ?? server, issuer };
}

function notApproved(verdict: Verdict): KeyturnError {
  return notCarriedOut(verdict === 'void' ? 'it is no longer the process that asked' : 'it was not approved');
}

function notCarriedOut(what: string): KeyturnError {
  return new KeyturnError('consent_denied', `The command was not carried out: ${what}.`, {
    rule: 'While the Keyturn app is running, commands that grant access must be approved in its window',
    hint: 'Run it again, and answer in Keyturn’s window. Nothing was remembered.',
  });
}
