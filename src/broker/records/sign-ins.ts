/**
 * The sign-ins of a home, a list of the document.
 *
 * Invariant: a change is made from the present record, or refused (`change`) if its record is no longer that one, so
 * that a slow refresh or a late sign-in can't overwrite what is newer.
 */
import { randomBytes } from 'node:crypto';
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { RecordList } from '../../store/home-document.ts';
import { isFor, isLiving, isShared, type SignIn } from './sign-in.ts';

interface ById {
  readonly items: readonly SignIn[];
  readonly byId: ReadonlyMap<string, SignIn>;
}

export class SignIns {
  readonly #store: RecordList<SignIn>;
  readonly #changed: () => void;
  #listener: () => void = () => undefined;
  #known: ById = { items: [], byId: new Map() };

  /** Calls `changed` after every change, once it is on the disk. */
  constructor(store: RecordList<SignIn>, changed: () => void) {
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

  /** Those that decide. Throws `file_unreadable` before the document is verified. */
  all(): readonly SignIn[] {
    return this.#store.items;
  }

  /** Only for lists: verified or not, and none if the document can't be read. */
  shown(): readonly SignIn[] {
    return this.#store.readable;
  }

  byId(id: string): SignIn | undefined {
    const items = this.all();
    if (this.#known.items !== items)
      this.#known = { items, byId: new Map(items.map((signIn) => [signIn.id, signIn])) };
    return this.#known.byId.get(id);
  }

  /** Sign-ins that serve an endpoint, newest first, the revoked ones too. */
  forEndpoint(endpoint: string, account?: string): SignIn[] {
    return at(this.all(), endpoint).filter((signIn) => account === undefined || signIn.account === account);
  }

  /** The same, only for lists. */
  shownFor(endpoint: string): SignIn[] {
    return at(this.shown(), endpoint);
  }

  /** The shared sign-ins for a resource at an issuer, the revoked ones too. */
  sharedAt(resource: string, issuer: string): SignIn[] {
    return this.#at(resource, issuer).filter(isShared);
  }

  /** The sign-ins that serve this app only, the revoked ones too. */
  aloneAt(resource: string, issuer: string, appId: string): SignIn[] {
    return this.#at(resource, issuer).filter((signIn) => !isShared(signIn) && isFor(signIn, appId));
  }

  #at(resource: string, issuer: string): SignIn[] {
    return this.all().filter((signIn) => signIn.resource === resource && signIn.issuer === issuer);
  }

  async add(fields: Omit<SignIn, 'id'>): Promise<SignIn> {
    const signIn: SignIn = { ...fields, id: randomBytes(8).toString('hex') };
    await this.#store.change((items) => [...items, signIn]);
    this.#changed();
    return signIn;
  }

  /** Writes a change made from `read`. Throws `conflict` if that is stale. */
  async change(read: SignIn, fields: Partial<Omit<SignIn, 'id'>>): Promise<SignIn> {
    const next: SignIn = { ...read, ...fields };
    await this.#store.change((items) => {
      if (!items.includes(read)) throw changedMeanwhile(read);
      return items.map((signIn) => (signIn === read ? next : signIn));
    });
    this.#changed();
    return next;
  }

  /** `edit` may run again on a newer record; undefined: it stays. Resolves to the record after it. Throws `not_found`. */
  async update(
    id: string,
    edit: (signIn: SignIn) => Partial<Omit<SignIn, 'id'>> | undefined,
  ): Promise<SignIn> {
    // The same record is changed into the same one: its identity shows whether it has changed since.
    const made = new Map<SignIn, SignIn>();
    const edited = (signIn: SignIn): SignIn => {
      const fields = edit(signIn);
      const next = made.get(signIn) ?? (fields ? { ...signIn, ...fields } : signIn);
      made.set(signIn, next);
      return next;
    };
    await this.#store.change((items) => {
      const found = items.find((signIn) => signIn.id === id);
      if (!found) throw noSignInWithId(id);
      const next = edited(found);
      return next === found ? items : items.map((signIn) => (signIn === found ? next : signIn));
    });
    this.#changed();
    const now = this.byId(id);
    if (!now) throw noSignInWithId(id);
    return now;
  }

  isCurrent(read: SignIn): boolean {
    return this.byId(read.id) === read;
  }

  /** The sign-ins that an id or an endpoint names, verified or not. Throws `not_found`. */
  named(idOrEndpoint: string): SignIn[] {
    const byId = this.shown().find(({ id }) => id === idOrEndpoint);
    const named = byId ? [byId] : this.shownFor(idOrEndpoint);
    if (named.length > 0) return named;
    throw new KeyturnError('not_found', `No sign-in for ${quoted(idOrEndpoint)}.`, {
      hint: '`keyturn sign-in list` shows the sign-ins there are.',
    });
  }
}

const at = (signIns: readonly SignIn[], endpoint: string): SignIn[] =>
  signIns
    .filter((signIn) => signIn.endpoints.includes(endpoint))
    .toSorted((one, other) => other.createdAt - one.createdAt);

function changedMeanwhile({ id }: SignIn): KeyturnError {
  return new KeyturnError('conflict', `The sign-in ${id} changed in the meantime.`, {
    hint: 'Try again: the newer state is used.',
  });
}

export function noSignInWithId(id: string): KeyturnError {
  return new KeyturnError('not_found', `There is no sign-in ${quoted(id)} any more.`, {
    hint: '`keyturn sign-in list` shows the sign-ins there are.',
  });
}

/** The accounts at an endpoint, if `account` is a new one there; nothing if it isn't new, or if there are no others. */
export function namesBeside(
  signIns: SignIns,
  endpoint: string,
  account: string | undefined,
): { beside?: readonly string[] } {
  const there = signIns.forEndpoint(endpoint);
  const names = new Set(there.filter(isLiving).map((signIn) => signIn.account));
  // One that was signed out there isn't new either.
  const isNew = account !== undefined && there.every((signIn) => signIn.account !== account);
  return isNew && names.size > 0 ? { beside: [...names] } : {};
}
