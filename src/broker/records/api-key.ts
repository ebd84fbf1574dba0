/**
 * API keys: static keys and personal tokens that the owner entered for servers without a sign-in.
 *
 * Invariants: the value lies in the vault only, in one item with what decides where it goes: endpoint, header and
 * scheme. Where a record says something else than its item, the key is refused. One key an endpoint. A key under
 * another header or scheme has another id, and a permission names the id, so that it never gives a later key. A value
 * is in the vault only while the vault's list (vault-roster.ts) has its id, so that a broker that was killed leaves
 * none that nothing names.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { KeyturnError } from '../../base/errors.ts';
import { mutex } from '../../base/mutex.ts';
import type { AuthorityStore } from '../../store/record-store.ts';
import { VaultError } from '../../vault/base/trouble.ts';
import type { Vault } from '../../vault/base/vault.ts';
import { keyRosterItem, type KnownIds, knownIds, VaultRoster } from './vault-roster.ts';

/** Where a key goes. */
const placeFields = {
  /** Canonical endpoint; with a query, where the key is for that URL only. */
  endpoint: z.string(),
  /** The name of the header, as the owner wrote it. */
  header: z.string(),
  /** Stands before the key in that header, e.g. `Bearer`; absent: the header holds only the key. */
  scheme: z.string().optional(),
};

const placeSchema = z.object(placeFields);

export type KeyPlace = z.infer<typeof placeSchema>;

export const apiKeySchema = z.object({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  ...placeFields,
  /** The owner set it without asking whether the server offers a sign-in. */
  isUnchecked: z.boolean().optional(),
  /** Milliseconds since the epoch. */
  setAt: z.number(),
});

export type ApiKey = z.infer<typeof apiKeySchema>;

const itemSchema = z.object({ version: z.literal(1), ...placeFields, value: z.string().min(1) });

/** The key's item in the vault. */
export const apiKeyVaultId = (id: string): string => `key.${id}`;

const subjectPrefix = 'key:';

/**
 * What a permission for a key stands under, in place of an endpoint. No endpoint looks like this, so that a
 * permission for tokens never gives a key, and a permission for a key never gives a token.
 */
export const keySubject = ({ id }: Pick<ApiKey, 'id'>): string => `${subjectPrefix}${id}`;

export const isKeySubject = (subject: string): boolean => subject.startsWith(subjectPrefix);

/** What a card and a list show of a key, besides its endpoint. */
export interface ShownKey {
  readonly header: string;
  readonly scheme?: string;
}

export const shownKey = ({ header, scheme }: Pick<KeyPlace, 'header' | 'scheme'>): ShownKey =>
  scheme === undefined ? { header } : { header, scheme };

export class ApiKeys {
  readonly #file: AuthorityStore<ApiKey>;
  readonly #vault: Vault;
  readonly #roster: VaultRoster;
  /** One change at a time: what no record names yet must not be tidied away. */
  readonly #exclusive = mutex();
  /** By id, the values that were read since the vault was opened. */
  readonly #values = new Map<string, string>();
  #clearings = 0;
  /** When a server last refused one, by id, in milliseconds since the epoch. */
  readonly #refusedAt = new Map<string, number>();

  constructor(file: AuthorityStore<ApiKey>, vault: Vault) {
    this.#file = file;
    this.#vault = vault;
    this.#roster = new VaultRoster(vault, keyRosterItem);
  }

  /** To list: verified or not. */
  shown(): readonly ApiKey[] {
    return this.#file.shown;
  }

  for(endpoint: string): ApiKey | undefined {
    return this.#file.items.find((key) => key.endpoint === endpoint);
  }

  /** The key that goes to this URL: that of the very URL, or the one of its endpoint without a query. */
  servingAt(url: string): ApiKey | undefined {
    return this.for(url) ?? this.for(url.replace(/\?.*$/s, ''));
  }

  byId(id: string): ApiKey | undefined {
    return this.#file.items.find((key) => key.id === id);
  }

  /** For lists and rows of the log: the key whose permission stands under `subject`. Verified or not. */
  shownOf(subject: string): ApiKey | undefined {
    if (!isKeySubject(subject) || !this.#file.isLoaded) return undefined;
    return this.#file.shown.find((key) => keySubject(key) === subject);
  }

  /** The value, if it was read already. */
  held(id: string): string | undefined {
    return this.#values.get(id);
  }

  /**
   * Reads the value, so that it is held. Throws what the vault throws, and `vault_unreadable` where the item isn't
   * this key's.
   */
  async read(key: ApiKey): Promise<void> {
    const clearings = this.#clearings;
    const { value, ...place } = itemIn(key.id, await this.#vault.get(apiKeyVaultId(key.id)));
    if (!isSamePlace(place, key)) throw otherPlace(key);
    // Races: the vault was locked meanwhile, or the owner set the key anew or removed it.
    if (clearings === this.#clearings && this.byId(key.id) === key) this.#values.set(key.id, value);
  }

  /**
   * The list in the vault has the id before the vault has the value, and the value is there before a record names it.
   * The same place keeps its id; another one ends the key that was there, whose value `tidy` removes.
   */
  async set(place: KeyPlace, value: string, more: Pick<ApiKey, 'isUnchecked' | 'setAt'>): Promise<ApiKey> {
    // Before the turn begins: the first verification tidies up, which takes a turn too.
    await this.#file.verify();
    return this.#exclusive(async () => {
      const before = this.for(place.endpoint);
      const id = before && isSamePlace(before, place) ? before.id : randomBytes(8).toString('hex');
      const key = { id, ...place, ...more };
      await this.#roster.add([...this.#ids(), id]);
      await this.#vault.set(apiKeyVaultId(id), JSON.stringify({ version: 1, ...place, value }));
      try {
        await this.#file.change((items) => [
          ...items.filter(({ endpoint }) => endpoint !== place.endpoint),
          key,
        ]);
      } catch (error) {
        // E.g. a full disk. Under the same id the vault's value counts; a new one has no record that names it. What
        // fails here is left for the next tidying.
        this.#forget(id);
        await this.#removeUnnamed().catch(() => undefined);
        throw error;
      }
      // Only now: until the record is another one, a read may still bring the former value.
      this.#forget(id);
      if (before) this.#forget(before.id);
      return key;
    });
  }

  /** No record names the key any more. `tidy` removes its value. */
  async remove({ id }: ApiKey): Promise<void> {
    await this.#file.verify();
    await this.#exclusive(async () => {
      await this.#roster.add(this.#ids());
      await this.#file.change((items) => items.filter((key) => key.id !== id));
      this.#forget(id);
    });
  }

  /**
   * Removes the values that no record names: after a change, also one that a kill cut short. The records were verified.
   * Throws `file_unreadable` and what the vault throws.
   */
  async tidy(): Promise<void> {
    await this.#exclusive(() => this.#removeUnnamed());
  }

  /** For the end of the home: the ids of all values that the vault may hold. */
  async known(): Promise<KnownIds> {
    const { isLoaded } = this.#file;
    return knownIds(this.#roster, isLoaded ? this.#file.shown.map(({ id }) => id) : [], isLoaded);
  }

  /** A program says that the server refused it. True for the first time since it was set. */
  refused(id: string, now: number): boolean {
    const isNew = !this.#refusedAt.has(id);
    this.#refusedAt.set(id, now);
    return isNew;
  }

  refusedAt(id: string): number | undefined {
    return this.#refusedAt.get(id);
  }

  /** Forgets every value: the vault is locked. */
  clear(): void {
    this.#clearings += 1;
    this.#values.clear();
  }

  #ids(): string[] {
    return this.#file.items.map(({ id }) => id);
  }

  async #removeUnnamed(): Promise<void> {
    const named = this.#ids();
    const unnamed = ((await this.#roster.ids()) ?? []).filter((id) => !named.includes(id));
    if (unnamed.length === 0) return;
    for (const id of unnamed) {
      this.#forget(id);
      await this.#vault.delete(apiKeyVaultId(id));
    }
    await this.#roster.drop(unnamed);
  }

  #forget(id: string): void {
    this.#values.delete(id);
    this.#refusedAt.delete(id);
  }
}

/** Whether a key keeps its id, and so its permissions. */
export function isSamePlace(one: KeyPlace, other: KeyPlace): boolean {
  return one.endpoint === other.endpoint && one.header === other.header && one.scheme === other.scheme;
}

function itemIn(id: string, text: string): z.infer<typeof itemSchema> {
  try {
    return itemSchema.parse(JSON.parse(text));
  } catch {
    throw new VaultError('damaged', `the vault's item "${apiKeyVaultId(id)}" has an unknown shape`, {
      item: apiKeyVaultId(id),
      hint: 'It was left as it is. If a newer Keyturn wrote it, update this one; else remove the key (keyturn key remove) and set it again.',
    });
  }
}

function otherPlace({ endpoint }: ApiKey): KeyturnError {
  return new KeyturnError(
    'vault_unreadable',
    `The vault holds the API key for ${endpoint} for another place.`,
    {
      rule: 'Where a key goes, the vault decides',
      hint: 'Remove the key and set it again: keyturn key remove, keyturn key set.',
    },
  );
}
