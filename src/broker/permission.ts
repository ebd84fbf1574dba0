/**
 * Permissions: what the user allowed, or refused, one local client.
 *
 * Invariant: nothing is authorized by silence. No record means no token; a denial stays until the
 * user changes it; a lease that ran out counts as no record. Scopes are compared as literal sets.
 */
import { z } from 'zod';
import { KeyturnError } from '../errors.ts';
import type { ChangeRules } from './narrowing.ts';
import type { AuthorityStore } from './record-store.ts';

export const permissionSchema = z.object({
  clientId: z.string(),
  /** Canonical endpoint as the user named it. */
  endpoint: z.string(),
  /** The canonical resource, once discovery verified it. Another one later voids the permission. */
  resource: z.string().optional(),
  decision: z.enum(['allow', 'deny']),
  /** The fixed set of scopes; absent: any scope that the user consents to at the issuer. */
  scope: z.array(z.string()).optional(),
  /** Scopes beyond `scope` that the user refused on a card; nobody is asked about them again. */
  refused: z.array(z.string()).optional(),
  /** The card named no scopes: the set is fixed to what the first token carries. */
  fixAtFirstToken: z.boolean().optional(),
  /** End of the lease, in milliseconds since the epoch. */
  until: z.number().optional(),
  createdAt: z.number(),
});

export type Permission = z.infer<typeof permissionSchema>;

/** A denial takes away by being there. */
export const permissionRules: ChangeRules<Permission> = {
  isDenial: ({ decision, refused = [] }) => decision === 'deny' || refused.length > 0,
};

export class Permissions {
  readonly #file: AuthorityStore<Permission>;

  constructor(file: AuthorityStore<Permission>) {
    this.#file = file;
  }

  /** The permission in force at `now` (milliseconds); undefined where the user has not decided. */
  find(clientId: string, endpoint: string, now: number): Permission | undefined {
    return this.#file.items.find(
      (p) => p.clientId === clientId && p.endpoint === endpoint && isInForce(p, now),
    );
  }

  of(clientId: string, now: number): Permission[] {
    return this.#file.items.filter((p) => p.clientId === clientId && isInForce(p, now));
  }

  forEndpoint(endpoint: string, now: number): Permission[] {
    return this.#file.items.filter((p) => p.endpoint === endpoint && allows(p, now));
  }

  /** As `of` and `forEndpoint`, verified or not: for the owner's lists only. */
  shownOf(clientId: string, now: number): Permission[] {
    return this.#file.shown.filter((p) => p.clientId === clientId && isInForce(p, now));
  }

  shownFor(endpoint: string, now: number): Permission[] {
    return this.#file.shown.filter((p) => p.endpoint === endpoint && allows(p, now));
  }

  /** Sets the one permission of (client, endpoint). */
  async set(permission: Permission): Promise<void> {
    await this.#file.change((items) => [...others(items, permission), permission]);
  }

  /** Writes a change made from `read`. Throws `conflict` where the user decided otherwise since: that must stand. */
  async replace(read: Permission, next: Permission): Promise<void> {
    await this.#file.change((items) => {
      if (!items.includes(read)) throw changedMeanwhile(read);
      return items.map((permission) => (permission === read ? next : permission));
    });
  }

  /** Ends a permission. Answers whether there was one. Tells no server. */
  async end(clientId: string, endpoint: string): Promise<boolean> {
    let wasThere = false;
    await this.#file.change((items) => {
      const rest = others(items, { clientId, endpoint });
      wasThere = rest.length < items.length;
      return rest;
    });
    return wasThere;
  }

  async endAllOf(clientId: string): Promise<void> {
    await this.#file.change((items) => items.filter((p) => p.clientId !== clientId));
  }
}

type Place = Pick<Permission, 'clientId' | 'endpoint'>;

function others(items: readonly Permission[], { clientId, endpoint }: Place): Permission[] {
  return items.filter((p) => p.clientId !== clientId || p.endpoint !== endpoint);
}

function isInForce({ until }: Permission, now: number): boolean {
  return until === undefined || until > now;
}

function allows(permission: Permission, now: number): boolean {
  return permission.decision === 'allow' && isInForce(permission, now);
}

function changedMeanwhile({ endpoint }: Permission): KeyturnError {
  return new KeyturnError('conflict', `The permission for ${endpoint} changed in the meantime.`, {
    hint: 'Try again: the newer decision counts.',
  });
}
