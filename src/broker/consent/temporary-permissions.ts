/**
 * Temporary permissions: what the user allowed for one token, for one run of an app, or for some minutes.
 *
 * Invariant: they are in memory only. One ends when the broker or the user ends it, or with its run, its time or its
 * one token, whichever comes first. It never changes the permission or denial on disk.
 */
import type { AppProcess, AppProcessView } from '../approval-requests/app-process.ts';
import type { Permission, AppAtEndpoint } from '../records/permission.ts';

export interface TemporaryPermission {
  readonly permission: Permission;
  /** The run that it is for, as it was when the user answered; absent: any run, until `permission.until`. */
  readonly run?: AppProcessView;
  readonly once?: true;
}

/** One for one token that is over: which token it gave, by its id, or which API key. */
interface UsedOnce extends AppAtEndpoint {
  readonly given: string;
}

export class TemporaryPermissions {
  #all: TemporaryPermission[] = [];
  readonly #countsUsedOnce = new Map<string, number>();
  /** Tokens that were allowed once and are handed out, unless the user decided against them since. */
  #usedOnce: UsedOnce[] = [];

  /** How many tokens or API keys this app got that were allowed once. */
  onceUsedCount(appId: string): number {
    return this.#countsUsedOnce.get(appId) ?? 0;
  }

  /** Whether this app got its one token, and the user has decided nothing about it since. */
  hasUsedOnce(appId: string): boolean {
    return this.#usedOnce.some((one) => one.appId === appId);
  }

  /** Those for any run, and those of this process at `now` (milliseconds), unless it runs another program by then. */
  find(appId: string, endpoint: string, appProcess: AppProcess | undefined, now: number): Permission[] {
    // This runs at every request, and usually there is none.
    if (this.#all.length === 0) return [];
    return (
      this.#current(now)
        .filter(({ permission }) => permission.appId === appId && permission.endpoint === endpoint)
        .filter(({ run }) => !run || (run.run === appProcess?.run && run.nowIs() === 'same'))
        // The longer-lasting one comes first, so that one for a single token isn't used up without need.
        .toSorted((a, b) => Number(a.once ?? false) - Number(b.once ?? false))
        .map(({ permission }) => permission)
    );
  }

  of(appId: string, now: number): TemporaryPermission[] {
    return this.#current(now).filter(({ permission }) => permission.appId === appId);
  }

  forEndpoint(endpoint: string, now: number): Permission[] {
    return this.#current(now)
      .map(({ permission }) => permission)
      .filter((permission) => permission.endpoint === endpoint);
  }

  holding(permission: Permission): TemporaryPermission | undefined {
    return this.#all.find((one) => one.permission === permission);
  }

  /** A token was handed out under this permission, or an API key (`given`: its id): one for one token is over. */
  used(permission: Permission, given: string): void {
    // This runs for every token, and usually there is none.
    if (this.#all.length === 0) return;
    const ended = this.#drop((one) => one.once === true && one.permission === permission);
    if (ended.length === 0) return;
    const { appId, endpoint } = permission;
    this.#countsUsedOnce.set(appId, this.onceUsedCount(appId) + ended.length);
    this.#usedOnce.push({ appId, endpoint, given });
  }

  /** Whether this very token was allowed once to this app there, and the user has decided nothing about it since. */
  gaveOnce(token: string, to: AppAtEndpoint): boolean {
    return this.#usedOnce.some((one) => one.given === token && isLike(to)(one));
  }

  /** Adds one. It replaces one of the same run, app and endpoint, unless just one of the two is for one token. */
  set(one: TemporaryPermission): void {
    const isAsked = isLike(one.permission);
    const isReplaced = ({ permission, run, once }: TemporaryPermission): boolean =>
      isAsked(permission) && run?.run === one.run?.run && once === one.once;
    this.#all = [...this.#all.filter((held) => !isReplaced(held)), one];
  }

  /** Returns whether there was one. */
  end(appId: string, endpoint: string): boolean {
    return this.#end(isLike({ appId, endpoint })).length > 0;
  }

  endAllFor(endpoint: string): void {
    this.#end((one) => one.endpoint === endpoint);
  }

  endAllOf(appId: string): void {
    this.#end((one) => one.appId === appId);
  }

  /** The run is over. Returns those that ended with it. */
  endRun(run: string): Permission[] {
    return this.#drop((one) => one.run?.run === run).map(({ permission }) => permission);
  }

  #end(isOver: (one: AppAtEndpoint) => boolean): TemporaryPermission[] {
    this.#usedOnce = this.#usedOnce.filter((one) => !isOver(one));
    return this.#drop(({ permission }) => isOver(permission));
  }

  #drop(isOver: (one: TemporaryPermission) => boolean): TemporaryPermission[] {
    const dropped = this.#all.filter(isOver);
    if (dropped.length === 0) return dropped;
    this.#all = this.#all.filter((one) => !isOver(one));
    return dropped;
  }

  #current(now: number): TemporaryPermission[] {
    this.#drop(({ permission: { until } }) => until !== undefined && until <= now);
    return this.#all;
  }
}

function isLike({ appId, endpoint }: AppAtEndpoint): (other: AppAtEndpoint) => boolean {
  return (other) => other.appId === appId && other.endpoint === endpoint;
}
