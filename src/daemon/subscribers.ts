/** The owner's connections that get a notice when a list should be read again. It doesn't say what changed. */
import type { notifications } from '../ipc/protocol/methods.ts';
import type { Caller } from '../ipc/server/server.ts';

export class Subscribers {
  readonly #callers = new Set<Caller>();

  /** Until its connection closes. */
  add(caller: Caller): void {
    this.#callers.add(caller);
    caller.onClose(() => this.#callers.delete(caller));
  }

  tell(what: (typeof notifications)[number]): void {
    for (const caller of this.#callers) caller.notify(what, {});
  }
}
