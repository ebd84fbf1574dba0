/**
 * Delegations: a program lets a child run of its own reach one resource, with no more than it has itself.
 *
 * Invariants: a delegation is in memory only, and has an end. It gives nothing that the program behind it could not have
 * at this moment (current-permissions.ts); once that is so, it has ended for good. Nobody is ever asked about it: the
 * person decided about the program that stands behind.
 */
import type { ClientProcessView } from '../questions/client-process.ts';
import type { Permission } from '../records/permission.ts';

export interface Delegation {
  /** The local client that delegated; its own permission may be a delegation too. */
  readonly parentId: string;
  /** Of the child: endpoint, resource, scopes, one grant and an end are all fixed. `clientId` is the child's. */
  readonly permission: DelegatedPermission;
  /** The parent's run, where its access is for that run only. */
  readonly run?: ClientProcessView;
}

export type DelegatedPermission = Permission & { scope: string[]; grants: [string]; until: number };

/** A child's child's child is the last. */
export const maxDepth = 3;

/** Children of one program at a time. */
export const maxChildren = 64;

export class Delegations {
  readonly #byChild = new Map<string, Delegation>();

  /** The child's delegation; undefined for a program that has none, or whose one is over at `now` (milliseconds). */
  find(childId: string, now: number): Delegation | undefined {
    // This runs at every request, and usually there is none.
    if (this.#byChild.size === 0) return undefined;
    const found = this.#byChild.get(childId);
    return found && found.permission.until > now ? found : undefined;
  }

  /** All of them, also those whose time is over. */
  all(): Delegation[] {
    return [...this.#byChild.values()];
  }

  childrenOf(parentId: string): Delegation[] {
    return this.all().filter((each) => each.parentId === parentId);
  }

  /** How many programs stand behind this one. */
  depthOf(clientId: string): number {
    const parentId = this.#byChild.get(clientId)?.parentId;
    return parentId === undefined ? 0 : 1 + this.depthOf(parentId);
  }

  /** The program that stands behind all of them; the program itself where it is no child. */
  rootOf(clientId: string): string {
    const parentId = this.#byChild.get(clientId)?.parentId;
    return parentId === undefined ? clientId : this.rootOf(parentId);
  }

  add(delegation: Delegation): void {
    this.#byChild.set(delegation.permission.clientId, delegation);
  }

  /** Ends a delegation and those below it. Returns the ids of the children that ended, none if there was none. */
  end(childId: string): string[] {
    if (!this.#byChild.delete(childId)) return [];
    const below = this.childrenOf(childId).map(({ permission }) => permission.clientId);
    return [childId, ...below.flatMap((id) => this.end(id))];
  }
}
