/**
 * Leases: access that the user allowed for one token, for one run of an app, or for some minutes.
 *
 * Invariant: a lease is in memory only. It ends when the broker or the owner ends it, or with its run, its time or its
 * one token, whichever comes first. It never changes the permission or denial on disk.
 */
import type { AppProcess, AppProcessView } from '../approval-requests/app-process.ts';
import type { Permission, AppAtEndpoint } from '../records/permission.ts';

export interface Lease {
  readonly permission: Permission;
  /** The run that it is for, as it was when the user answered; absent: any run, until `permission.until`. */
  readonly run?: AppProcessView;
  /** For one token. */
  readonly once?: true;
}

/** A lease for one token that is over: which token it gave, by its id, or which API key. */
interface UsedUp extends AppAtEndpoint {
  readonly given: string;
}

export class Leases {
  #leases: Lease[] = [];
  readonly #spent = new Map<string, number>();
  /** The tokens of leases for one token that gave it, and that nobody decided against since. */
  #usedUp: UsedUp[] = [];

  /** How many tokens this app got under leases for one token. */
  spentBy(appId: string): number {
    return this.#spent.get(appId) ?? 0;
  }

  /** Whether this app got its one token, and the user has decided nothing about it since. */
  hasUsedUp(appId: string): boolean {
    return this.#usedUp.some((one) => one.appId === appId);
  }

  /** The leases of this process at `now` (milliseconds). If the process runs another program by now, it has none. */
  find(appId: string, endpoint: string, appProcess: AppProcess | undefined, now: number): Permission[] {
    // This runs at every request, and usually there is no lease.
    if (this.#leases.length === 0) return [];
    return (
      this.#current(now)
        .filter(({ permission }) => permission.appId === appId && permission.endpoint === endpoint)
        .filter(({ run }) => !run || (run.run === appProcess?.run && run.standing() === 'same'))
        // The longer-lasting lease comes first, so that a lease for one token is not used up without need.
        .toSorted((a, b) => Number(a.once ?? false) - Number(b.once ?? false))
        .map(({ permission }) => permission)
    );
  }

  of(appId: string, now: number): Lease[] {
    return this.#current(now).filter(({ permission }) => permission.appId === appId);
  }

  forEndpoint(endpoint: string, now: number): Permission[] {
    return this.#current(now)
      .map(({ permission }) => permission)
      .filter((permission) => permission.endpoint === endpoint);
  }

  /** The lease that has this permission. */
  holding(permission: Permission): Lease | undefined {
    return this.#leases.find((lease) => lease.permission === permission);
  }

  /** A token was handed out under this permission, or an API key (`given`: its id): a lease for one token is over. */
  used(permission: Permission, given: string): void {
    // This runs for every token, and usually there is no lease.
    if (this.#leases.length === 0) return;
    const ended = this.#drop((lease) => lease.once === true && lease.permission === permission);
    const { appId, endpoint } = permission;
    this.#spent.set(appId, this.spentBy(appId) + ended.length);
    if (ended.length > 0) this.#usedUp.push({ appId, endpoint, given });
  }

  /** Whether this app got this very token there under a lease, and the user has decided nothing about it since. */
  gave(token: string, key: AppAtEndpoint): boolean {
    return this.#usedUp.some((one) => one.given === token && isLike(key)(one));
  }

  /**
   * Keeps a lease. It replaces an earlier one of the same run, app and endpoint, unless one of the two is for one
   * token.
   */
  set(lease: Lease): void {
    const { appId, endpoint } = lease.permission;
    this.#leases = [
      ...this.#leases.filter(
        ({ permission, run, once }) =>
          permission.appId !== appId ||
          permission.endpoint !== endpoint ||
          run?.run !== lease.run?.run ||
          once !== lease.once,
      ),
      lease,
    ];
  }

  /** Returns whether there was one. */
  end(appId: string, endpoint: string): boolean {
    return this.#end(isLike({ appId, endpoint })).length > 0;
  }

  endAllFor(endpoint: string): void {
    this.#end((key) => key.endpoint === endpoint);
  }

  endAllOf(appId: string): void {
    this.#end((key) => key.appId === appId);
  }

  /** The run is over. Returns the leases that ended with it. */
  endRun(run: string): Permission[] {
    return this.#drop((lease) => lease.run?.run === run).map(({ permission }) => permission);
  }

  #end(isOver: (key: AppAtEndpoint) => boolean): Lease[] {
    this.#usedUp = this.#usedUp.filter((one) => !isOver(one));
    return this.#drop(({ permission }) => isOver(permission));
  }

  #drop(isOver: (lease: Lease) => boolean): Lease[] {
    const dropped = this.#leases.filter(isOver);
    if (dropped.length === 0) return dropped;
    this.#leases = this.#leases.filter((lease) => !isOver(lease));
    return dropped;
  }

  #current(now: number): Lease[] {
    this.#drop(({ permission: { until } }) => until !== undefined && until <= now);
    return this.#leases;
  }
}

function isLike({ appId, endpoint }: AppAtEndpoint): (other: AppAtEndpoint) => boolean {
  return (other) => other.appId === appId && other.endpoint === endpoint;
}
