/**
 * What the server's sessions asked of the client.
 *
 * Invariant: an answer goes to the session that asked, or to none; an id stands for one question at a time. Memory is
 * bounded, though the server asks without end and the client never answers.
 */
import { rpcErrors } from '../base/errors.ts';
import { maxQuestionId, maxQuestionRefusals, maxQuestions } from '../base/limits.ts';
import {
  type Answer,
  cancelledId,
  errorAnswer,
  isRequest,
  type JSONRPCMessage,
  type OnServerMessage,
  type RequestId,
} from '../base/messages.ts';
import type { Session } from './session.ts';

/** Who asked the client, and under which id. */
interface ServerQuestion {
  readonly session: Session;
  readonly id: RequestId;
}

export class Questions {
  readonly #asked = new Map<RequestId, ServerQuestion>();
  readonly #toClient: OnServerMessage;
  readonly #newId: () => RequestId;
  /** Refusals that are on their way to the server. */
  #refusals = 0;

  constructor(toClient: OnServerMessage, newId: () => RequestId) {
    this.#toClient = toClient;
    this.#newId = newId;
  }

  /** A message that a session's server sends by itself. */
  heard(session: Session, message: JSONRPCMessage, about: RequestId | undefined): void {
    if (isRequest(message)) {
      const { length } = String(message.id);
      if (this.#asked.size >= maxQuestions || length > maxQuestionId)
        return void this.#refuse(session, message.id, length);
      // Two sessions may count alike.
      const id = this.#asked.has(message.id) ? this.#newId() : message.id;
      this.#asked.set(id, { session, id: message.id });
      this.#toClient({ ...message, id }, about);
      return;
    }
    const ended = 'method' in message && !('id' in message) ? cancelledId(message) : undefined;
    const known = ended === undefined ? undefined : this.#take(session, ended);
    if (known === undefined || !('params' in message)) return this.#toClient(message, about);
    this.#toClient({ ...message, params: { ...message.params, requestId: known } }, about);
  }

  async #refuse(session: Session, id: RequestId, length: number): Promise<void> {
    // A server that doesn't take these refusals gets no further ones.
    if (this.#refusals >= maxQuestionRefusals || length > maxQuestionId) return;
    this.#refusals += 1;
    // It notices a broken connection by itself.
    await session.send(errorAnswer(id, rpcErrors.tooManyQuestions)).catch(() => undefined);
    this.#refusals -= 1;
  }

  async answer(answer: Answer): Promise<void> {
    const asked = answer.id === undefined ? undefined : this.#asked.get(answer.id);
    if (answer.id === undefined || !asked) return;
    this.#asked.delete(answer.id);
    await asked.session.send({ ...answer, id: asked.id });
  }

  /** The session is over: nobody waits for the client's answers any more. */
  drop(session: Session): void {
    for (const [requestId, asked] of this.#asked) {
      if (asked.session !== session) continue;
      this.#asked.delete(requestId);
      const params = { requestId };
      this.#toClient({ jsonrpc: '2.0', method: 'notifications/cancelled', params }, undefined);
    }
  }

  /** The id by which the client knows what this session asked under `id`; it isn't open any more. */
  #take(session: Session, id: RequestId): RequestId | undefined {
    for (const [known, asked] of this.#asked) {
      if (asked.session !== session || asked.id !== id) continue;
      this.#asked.delete(known);
      return known;
    }
    return undefined;
  }
}
