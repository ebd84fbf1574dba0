/**
 * Asks the person before a command gives somebody more access, where a person sits at the broker (DESIGN, Authority).
 *
 * Invariants: a request that widens access runs only after a yes to its own card. The process that asked must still be
 * the one that the card showed, and a permission is set only as the card showed it. The request is checked before the
 * card appears, and that check doesn't need the vault. No answer is remembered. Each refused card makes the next one
 * wait longer, so that no program can fill the desk with cards.
 */
import type { Verdict } from '../../broker/questions/answer.ts';
import { CardPauses } from '../../broker/consent/card-pauses.ts';
import { questionPatience } from '../../broker/questions/interaction.ts';
import { patience, TimeOver } from '../../base/patience.ts';
import type { Broker } from '../../broker/broker.ts';
import type { CommandWish } from '../../broker/questions/question.ts';
import { KeyturnError } from '../../base/errors.ts';
import { isWidening } from '../../ipc/protocol/effects.ts';
import type { MethodName } from '../../ipc/protocol/protocol.ts';
import type { Caller } from '../../ipc/server/server.ts';
import type { Askers } from '../clients/askers.ts';
import { wishOf } from './command-wish.ts';
import type { WishParts } from './command-wish.ts';
import { judged } from '../clients/widening.ts';
import type { Judged, PermissionParams } from '../clients/widening.ts';

export interface ApprovalParts extends WishParts {
  readonly askers: Askers;
}

/** One pause for all commands: they come and go, and their names prove nothing. */
const pauseKey = 'command';

export class Approvals {
  readonly #parts: ApprovalParts;
  readonly #pauses: CardPauses;

  constructor(parts: ApprovalParts) {
    this.#parts = parts;
    this.#pauses = new CardPauses(() => parts.broker.parts.clock.now());
  }

  /**
   * Resolves once the person said yes, and at once for what widens nothing; for `permission.set` with what was judged,
   * at the moment of the card. `params` have passed their schema.
   * Throws what the method would throw for them, `consent_denied`, `rate_limited`, and `interrupted` when the
   * command went away.
   */
  async require(caller: Caller, method: MethodName, params: unknown): Promise<Judged | undefined> {
    if (!isWidening(method)) return undefined;
    const wish = wishOf(this.#parts, method, params);
    const judgement = judgementOf(this.#parts.broker, method, params);
    if (!wish) return judgement;
    this.#refuseTooSoon();
    const verdict = await this.#ask(caller, wish).catch((error: unknown) => {
      this.#pauses.cameToNothing(pauseKey);
      throw error;
    });
    await this.#record(wish, verdict);
    if (verdict === 'yes') {
      this.#pauses.end(pauseKey);
      return judgement;
    }
    this.#pauses.cameToNothing(pauseKey);
    throw refused(verdict);
  }

  async #ask(caller: Caller, wish: CommandWish): Promise<Verdict> {
    const { broker, askers } = this.#parts;
    const { clock, interactions } = broker.parts;
    const waiting = patience(clock, questionPatience, caller.signal);
    const asker = askers.of(caller).look();
    try {
      return await interactions.ask({ kind: 'command', wish, asker }, waiting.signal);
    } catch (error) {
      if (error instanceof TimeOver) return 'later';
      throw error;
    } finally {
      waiting.end();
    }
  }

  /** What was allowed stands in the row of the deed as well; this one says that it came by a command. */
  async #record(wish: CommandWish, verdict: Verdict): Promise<void> {
    const { audit } = this.#parts.broker.parts;
    await audit.record({ event: 'command', outcome: `${wish.command}: ${verdict}`, ...placeOf(wish) });
  }

  #refuseTooSoon(): void {
    const retryAfter = this.#pauses.left(pauseKey);
    if (retryAfter === 0) return;
    throw new KeyturnError('rate_limited', 'A command was refused in Keyturn’s window a moment ago.', {
      rule: 'Each refused or withdrawn card of a command doubles the pause, from 1 s to 5 min',
      hint: 'Wait, then run it again; or do it in Keyturn’s window.',
      retryAfter,
    });
  }
}

/** `params` have passed the method's schema. */
function judgementOf(broker: Broker, method: MethodName, params: unknown): Judged | undefined {
  return method === 'permission.set' ? judged(broker, params as PermissionParams) : undefined;
}

function placeOf(wish: CommandWish): { client?: string; endpoint?: string; issuer?: string } {
  switch (wish.command) {
    case 'allow':
    case 'endDenial':
      return { client: wish.clientName, endpoint: wish.endpoint };
    case 'login':
      return { endpoint: wish.endpoint, ...(wish.issuer === undefined ? {} : { issuer: wish.issuer }) };
    case 'register':
      return { issuer: wish.issuer };
    case 'override':
      return { endpoint: wish.server };
    default:
      return {};
  }
}

function refused(verdict: Verdict): KeyturnError {
  const what = verdict === 'void' ? 'it is no longer the process that asked' : 'nobody said yes to it';
  return new KeyturnError('consent_denied', `The command was not carried out: ${what}.`, {
    rule: 'While the desktop app is the broker, what widens needs the person’s own press',
    hint: 'Run it again, and answer in Keyturn’s window. Nothing was remembered.',
  });
}
