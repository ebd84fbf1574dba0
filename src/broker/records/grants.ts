/**
 * The grants of a home, a list of the document.
 *
 * Invariant: a change names the record that it was made from, and is refused if that is no longer the present one, so
 * that a slow refresh or a late sign-in can't overwrite what is newer.
 */
import { randomBytes } from 'node:crypto';
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { AuthorityStore } from '../../store/authority.ts';
import { isFor, isLiving, isShared } from './grant.ts';
import type { Grant } from './grant.ts';

interface ById {
  readonly items: readonly Grant[];
  readonly byId: ReadonlyMap<string, Grant>;
}

export class Grants {
  readonly #store: AuthorityStore<Grant>;
  readonly #changed: () => void;
  #listener: () => void = () => undefined;
  #known: ById = { items: [], byId: new Map() };

  /** Calls `changed` after every change, once it is on the disk. */
  constructor(store: AuthorityStore<Grant>, changed: () => void) {
    this.#store = store;
    this.#changed = () => {
      this.#listener();
      changed();
    };
  }

  /** `listener` is called after every change, before anybody else learns of it. */
  watch(listener: () => void): void {
    this.#listener = listener;
  }

  /** Those that decide. Throws `file_unreadable` before the document is verified, as every question below. */
  all(): readonly Grant[] {
    return this.#store.items;
  }

  /** Only for lists: verified or not, and none if the document can't be read. */
  shown(): readonly Grant[] {
    return this.#store.readable;
  }

  byId(id: string): Grant | undefined {
    const items = this.all();
    if (this.#known.items !== items)
      this.#known = { items, byId: new Map(items.map((grant) => [grant.id, grant])) };
    return this.#known.byId.get(id);
  }

  /** Grants that serve an endpoint, newest first, the revoked ones too. */
  forEndpoint(endpoint: string, account?: string): Grant[] {
    return at(this.all(), endpoint).filter((grant) => account === undefined || grant.account === account);
  }

  /** The same, only for lists. */
  shownFor(endpoint: string): Grant[] {
    return at(this.shown(), endpoint);
  }

  /** The shared grants for a resource at an issuer, the revoked ones too. */
  sharedAt(resource: string, issuer: string): Grant[] {
    return this.all()
      .filter((grant) => grant.resource === resource && grant.issuer === issuer)
      .filter(isShared);
  }

  /** The grants that serve this program only, the revoked ones too. */
  aloneAt(resource: string, issuer: string, appId: string): Grant[] {
    return this.all()
      .filter((grant) => grant.resource === resource && grant.issuer === issuer)
      .filter((grant) => !isShared(grant) && isFor(grant, appId));
  }

  async add(fields: Omit<Grant, 'id'>): Promise<Grant> {
    const grant: Grant = { ...fields, id: randomBytes(8).toString('hex') };
    await this.#store.change((items) => [...items, grant]);
    this.#changed();
    return grant;
  }

  /**
   * Writes a change made from `read`. Throws `conflict` when somebody else changed or removed the
   * grant since then: what the caller read is stale and must not be written.
   */
  async change(read: Grant, fields: Partial<Omit<Grant, 'id'>>): Promise<Grant> {
    const next: Grant = { ...read, ...fields };
    await this.#store.change((items) => {
      if (!items.includes(read)) throw changedMeanwhile(read);
      return items.map((grant) => (grant === read ? next : grant));
    });
    this.#changed();
    return next;
  }

  /**
   * Writes a change of whatever the record is then. `edit` may run again on a newer record; undefined: it stays as it is.
   * Resolves to the record after it. Throws `not_found`.
   */
  async update(id: string, edit: (grant: Grant) => Partial<Omit<Grant, 'id'>> | undefined): Promise<Grant> {
    // The same record is changed into the same one: its identity shows whether it has changed since.
    const made = new Map<Grant, Grant>();
    const edited = (grant: Grant): Grant => {
      const fields = edit(grant);
      const next = made.get(grant) ?? (fields ? { ...grant, ...fields } : grant);
      made.set(grant, next);
      return next;
    };
    await this.#store.change((items) => {
      const found = items.find((grant) => grant.id === id);
      if (!found) throw noGrant(id);
      const next = edited(found);
      return next === found ? items : items.map((grant) => (grant === found ? next : grant));
    });
    this.#changed();
    const now = this.byId(id);
    if (!now) throw noGrant(id);
    return now;
  }

  isCurrent(read: Grant): boolean {
    return this.byId(read.id) === read;
  }

  /** The grants that an id or an endpoint names, verified or not. Throws `not_found`. */
  named(idOrEndpoint: string): Grant[] {
    const byId = this.shown().find(({ id }) => id === idOrEndpoint);
    const named = byId ? [byId] : this.shownFor(idOrEndpoint);
    if (named.length > 0) return named;
    throw new KeyturnError('not_found', `No sign-in for ${quoted(idOrEndpoint)}.`, {
      hint: '`keyturn sign-in list` shows the sign-ins there are.',
    });
  }
}

const at = (grants: readonly Grant[], endpoint: string): Grant[] =>
  grants
    .filter((grant) => grant.endpoints.includes(endpoint))
    .toSorted((one, other) => other.createdAt - one.createdAt);

function changedMeanwhile({ id }: Grant): KeyturnError {
  return new KeyturnError('conflict', `The sign-in ${id} changed in the meantime.`, {
    hint: 'Try again: the newer state is used.',
  });
}

export function noGrant(id: string): KeyturnError {
  return new KeyturnError('not_found', `There is no sign-in ${quoted(id)} any more.`, {
    hint: '`keyturn sign-in list` shows the sign-ins there are.',
  });
}

/** The accounts at an endpoint, if `account` is a new one there; nothing if it isn't new, or if there are no others. */
export function namesBeside(
  grants: Grants,
  endpoint: string,
  account: string | undefined,
): { beside?: readonly string[] } {
  const names = new Set(
    grants
      .forEndpoint(endpoint)
      .filter(isLiving)
      .map((grant) => grant.account),
  );
  return account === undefined || names.size === 0 || names.has(account) ? {} : { beside: [...names] };
}
