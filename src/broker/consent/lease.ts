/**
 * Leases: what the user allowed once, for one run of a program, or for some minutes beside what stands.
 *
 * Invariant: in memory only. A lease ends with the first token under it if it was for once, with its run, with
 * its time, by the owner's word or with the broker, whichever is first, and leaves the permission or denial on
 * disk as it was.
 */
import type { ClientProcess, ClientProcessView } from '../questions/client-process.ts';
import type { Permission } from '../records/permission.ts';

export interface Lease {
  readonly permission: Permission;
  /** The run it is bound to, as it was when the user answered; absent: any run, until `permission.until`. */
  readonly run?: ClientProcessView;
  /** For one token. */
  readonly once?: true;
}

export class Leases {
  #leases: Lease[] = [];
  readonly #spent = new Map<string, number>();

  /** How many tokens this program got so far that were for once. */
  spentBy(clientId: string): number {
    return this.#spent.get(clientId) ?? 0;
  }

  /** What is leased to this asker at `now` (milliseconds). A process that runs another program by now has none. */
  find(clientId: string, endpoint: string, asker: ClientProcess | undefined, now: number): Permission[] {
    // Mostly there is none, and every request asks.
    if (this.#leases.length === 0) return [];
    return (
      this.#current(now)
        .filter(({ permission }) => permission.clientId === clientId && permission.endpoint === endpoint)
        .filter(({ run }) => !run || (run.run === asker?.run && run.standing() === 'same'))
        // What lasts comes first: it must not use up what was given for once.
        .toSorted((a, b) => Number(a.once ?? false) - Number(b.once ?? false))
        .map(({ permission }) => permission)
    );
  }

  of(clientId: string, now: number): Lease[] {
    return this.#current(now).filter(({ permission }) => permission.clientId === clientId);
  }

  forEndpoint(endpoint: string, now: number): Permission[] {
    return this.#current(now)
      .map(({ permission }) => permission)
      .filter((permission) => permission.endpoint === endpoint);
  }

  /** The lease that this very permission stands in. */
  holding(permission: Permission): Lease | undefined {
    return this.#leases.find((lease) => lease.permission === permission);
  }

  /** A token was handed out under this very permission: what was for once is over. */
  used(permission: Permission): void {
    // Mostly there is none, and every token comes here.
    if (this.#leases.length === 0) return;
    const ended = this.#drop((lease) => lease.once === true && lease.permission === permission);
    const { clientId } = permission;
    this.#spent.set(clientId, this.spentBy(clientId) + ended.length);
  }

  /** Keeps a lease in place of an earlier one of the same run, program and endpoint; what is for once stands beside. */
  set(lease: Lease): void {
    const { clientId, endpoint } = lease.permission;
    this.#leases = [
      ...this.#leases.filter(
        ({ permission, run, once }) =>
          permission.clientId !== clientId ||
          permission.endpoint !== endpoint ||
          run?.run !== lease.run?.run ||
          once !== lease.once,
      ),
      lease,
    ];
  }

  /** Answers whether there was one. */
  end(clientId: string, endpoint: string): boolean {
    return (
      this.#drop(({ permission }) => permission.clientId === clientId && permission.endpoint === endpoint)
        .length > 0
    );
  }

  endAllOf(clientId: string): void {
    this.#drop(({ permission }) => permission.clientId === clientId);
  }

  /** The run is over. Answers what ended with it. */
  endRun(run: string): Permission[] {
    return this.#drop((lease) => lease.run?.run === run).map(({ permission }) => permission);
  }

  #drop(isOver: (lease: Lease) => boolean): Lease[] {
    const dropped = this.#leases.filter(isOver);
    if (dropped.length > 0) this.#leases = this.#leases.filter((lease) => !isOver(lease));
    return dropped;
  }

  #current(now: number): Lease[] {
    this.#drop(({ permission: { until } }) => until !== undefined && until <= now);
    return this.#leases;
  }
}
