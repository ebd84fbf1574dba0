/**
 * API keys: static keys and personal tokens that the user entered for servers without a sign-in. A list of the
 * document.
 *
 * Invariants: the value is in the vault only, in an item that the record names. One key an endpoint. A key under
 * another header or scheme has another id, and a permission names the id, so that it never gives a later key.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { RecordRules } from '../../store/list-rules.ts';
import type { RecordList } from '../../store/home-document.ts';
import { itemNameSchema } from '../../store/unused-items.ts';
import type { VaultItems } from '../../store/vault-items.ts';

export const apiKeySchema = z.object({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  /** Canonical endpoint; with a query, where the key is for that URL only. */
  endpoint: z.string(),
  /** The name of the header, as the user wrote it. */
  header: z.string(),
  /** Comes before the key in that header, e.g. `Bearer`; absent: the header holds only the key. */
  scheme: z.string().optional(),
  /** The vault's item with the value. */
  item: itemNameSchema,
  /** The user set it without asking whether the server offers a sign-in. */
  isUnchecked: z.boolean().optional(),
  /** Milliseconds since 1970. */
  setAt: z.number(),
});

export type ApiKey = z.infer<typeof apiKeySchema>;

export type KeyPlace = Pick<ApiKey, 'endpoint' | 'header' | 'scheme'>;

export const apiKeyRules: RecordRules<ApiKey> = {
  keyOf: ({ id }) => id,
  itemsOf: ({ item }) => [item],
};

const targetPrefix = 'key:';

/** Instead of an endpoint. No endpoint looks like this, so that no permission for tokens gives a key, nor the reverse. */
export const apiKeyTarget = ({ id }: Pick<ApiKey, 'id'>): string => `${targetPrefix}${id}`;

export const isApiKeyTarget = (target: string): boolean => target.startsWith(targetPrefix);

/** What a card and a list show of a key, besides its endpoint. */
export interface ShownApiKey {
  readonly header: string;
  readonly scheme?: string;
}

export const shownApiKey = ({ header, scheme }: Pick<KeyPlace, 'header' | 'scheme'>): ShownApiKey =>
  scheme === undefined ? { header } : { header, scheme };

export class ApiKeys {
  readonly #file: RecordList<ApiKey>;
  readonly #items: VaultItems;
  /** By id, the values that were read since the vault was opened. */
  readonly #values = new Map<string, string>();
  #clearings = 0;
  /** When a server last rejected one, by id, in milliseconds since 1970. */
  readonly #rejectedAt = new Map<string, number>();

  constructor(file: RecordList<ApiKey>, items: VaultItems) {
    this.#file = file;
    this.#items = items;
  }

  /** To list: verified or not. */
  shown(): readonly ApiKey[] {
    return this.#file.shown;
  }

  for(endpoint: string): ApiKey | undefined {
    return this.#file.items.find((key) => key.endpoint === endpoint);
  }

  /** The key that goes to this URL: that of the very URL, or the one of its endpoint without a query. */
  forUrl(url: string): ApiKey | undefined {
    return this.for(url) ?? this.for(url.replace(/\?.*$/s, ''));
  }

  byId(id: string): ApiKey | undefined {
    return this.#file.items.find((key) => key.id === id);
  }

  /** For lists and rows of the log: the key whose permission is stored under `target`. Verified or not. */
  shownOf(target: string): ApiKey | undefined {
    if (!isApiKeyTarget(target)) return undefined;
    return this.#file.readable.find((key) => apiKeyTarget(key) === target);
  }

  /** The value, if it was read already. */
  held(id: string): string | undefined {
    return this.#values.get(id);
  }

  /** Reads the value, so that it is held. Throws what the vault throws. */
  async read(key: ApiKey): Promise<void> {
    const clearings = this.#clearings;
    const value = await this.#items.get(key.item);
    // Races: the vault was locked meanwhile, or the user set the key again or removed it.
    if (clearings === this.#clearings && this.byId(key.id) === key) this.#values.set(key.id, value);
  }

  /** Throws what the vault throws. */
  async isValueOf({ item }: ApiKey, value: string): Promise<boolean> {
    return timingSafeEqual(digest(await this.#items.get(item)), digest(value));
  }

  /** The value is in the vault before a record names it. The same place keeps its id; another one ends the key there. */
  async set(place: KeyPlace, value: string, more: Pick<ApiKey, 'isUnchecked' | 'setAt'>): Promise<ApiKey> {
    const before = this.for(place.endpoint);
    const id = before && isSamePlace(before, place) ? before.id : randomBytes(8).toString('hex');
    const key = await this.#items.keep('k', value, async (item) => {
      const made = { id, ...place, item, ...more };
      await this.#file.change((items) => [
        ...items.filter(({ endpoint }) => endpoint !== place.endpoint),
        made,
      ]);
      return made;
    });
    // Only now: until the record is another one, a read may still bring the former value.
    this.#forget(id);
    if (before) this.#forget(before.id);
    return key;
  }

  /** No record names the key any more. `VaultItems.tidy` removes its value. */
  async remove({ id }: ApiKey): Promise<void> {
    await this.#file.change((items) => items.filter((key) => key.id !== id));
    this.#forget(id);
  }

  /** An app says that the server rejected it. True for the first time since it was set or the broker started. */
  noteRejected(id: string, now: number): boolean {
    const isNew = !this.#rejectedAt.has(id);
    this.#rejectedAt.set(id, now);
    return isNew;
  }

  rejectedAt(id: string): number | undefined {
    return this.#rejectedAt.get(id);
  }

  /** Forgets every value: the vault is locked. */
  clear(): void {
    this.#clearings += 1;
    this.#values.clear();
  }

  #forget(id: string): void {
    this.#values.delete(id);
    this.#rejectedAt.delete(id);
  }
}

/** Of equal length for every value. */
const digest = (value: string): Buffer => createHash('sha256').update(value).digest();

/** Whether a key keeps its id, and so its permissions. */
export function isSamePlace(one: KeyPlace, other: KeyPlace): boolean {
  return one.endpoint === other.endpoint && one.header === other.header && one.scheme === other.scheme;
}
