/**
 * Permissions: what the user allowed, or refused, one local client.
 *
 * Invariant: nothing is authorized by silence. No record means no token; a denial stays until the
 * user changes it; a lease that ran out counts as no record. Scopes are compared as literal sets.
 */
import { z } from 'zod';
import type { RecordFile } from './record-file.ts';

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

export class Permissions {
  readonly #file: RecordFile<Permission>;

  constructor(file: RecordFile<Permission>) {
    this.#file = file;
  }

  /** The permission in force at `now` (milliseconds); undefined where the user has not decided. */
  find(clientId: string, endpoint: string, now: number): Permission | undefined {
    return this.#file.items.find(
      (p) => p.clientId === clientId && p.endpoint === endpoint && (p.until === undefined || p.until > now),
    );
  }

  of(clientId: string, now: number): Permission[] {
    return this.#file.items.filter(
      (p) => p.clientId === clientId && (p.until === undefined || p.until > now),
    );
  }

  forEndpoint(endpoint: string, now: number): Permission[] {
    return this.#file.items.filter(
      (p) => p.endpoint === endpoint && p.decision === 'allow' && (p.until === undefined || p.until > now),
    );
  }

  /** Sets the one permission of (client, endpoint). */
  async set(permission: Permission): Promise<void> {
    await this.#file.save([...this.#others(permission.clientId, permission.endpoint), permission]);
  }

  /** Ends a permission. Answers whether there was one. Tells no server. */
  async end(clientId: string, endpoint: string): Promise<boolean> {
    const others = this.#others(clientId, endpoint);
    if (others.length === this.#file.items.length) return false;
    await this.#file.save(others);
    return true;
  }

  async endAllOf(clientId: string): Promise<void> {
    await this.#file.save(this.#file.items.filter((p) => p.clientId !== clientId));
  }

  #others(clientId: string, endpoint: string): Permission[] {
    return this.#file.items.filter((p) => p.clientId !== clientId || p.endpoint !== endpoint);
  }
}
