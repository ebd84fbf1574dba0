/**
 * The document of a home, and the typed lists in it.
 *
 * Invariant: the document's key derives from the home’s root key, which is in the vault.
 */
import type { KeyObject } from 'node:crypto';
import path from 'node:path';
import type { z } from 'zod';
import { readPrivate } from '../base/private/private-file.ts';
import { derivedKey } from '../vault/base/item-store.ts';
import type { Vault } from '../vault/base/vault.ts';
import { HomeDocument } from './document.ts';
import { placeIn, type Place } from './document-text.ts';
import { Numbers } from './newest.ts';
import { rulesOf, type RecordRules, type State } from './list-rules.ts';
import { withUnused } from './unused-items.ts';

export interface DocumentOptions {
  readonly place: Place;
  /** The home's state folder. */
  readonly folder: string;
  readonly vault: Pick<Vault, 'kind' | 'get' | 'replace'>;
  /** The root key. Throws the vault's errors. */
  readonly root: () => Promise<KeyObject>;
}

/** The document's file in the state folder. */
export const documentName = 'document.json';

/** Reads no file and no vault yet. With a memory vault, whose root key is new at each start, there is no file. */
export function openDocument({ folder, place, vault, root }: DocumentOptions): HomeDocument {
  return new HomeDocument({
    file: vault.kind === 'memory' ? undefined : path.join(folder, documentName),
    place,
    key: async () => derivedKey(await root(), 'document', place.home),
    numbers: new Numbers(vault),
  });
}

/** Where the document in this folder says that it belongs, not verified; undefined if there is none. Throws `file_unreadable`. */
export async function readPlace(folder: string): Promise<Place | undefined> {
  const file = path.join(folder, documentName);
  const bytes = await readPrivate(file);
  return bytes && placeIn(file, bytes);
}

export function listOf<Item>(
  document: HomeDocument,
  name: string,
  schema: z.ZodType<Item>,
  rules: RecordRules<Item> = {},
): DocumentList<Item> {
  document.define(name, rulesOf(schema, rules));
  return new DocumentList<Item>(document, name, rules.itemsOf);
}

/** One list of the document, in memory: reading it does no I/O. Its records decide only once the document was verified. */
export type RecordList<Item> = Pick<DocumentList<Item>, 'items' | 'shown' | 'readable' | 'change'>;

export class DocumentList<Item> {
  readonly #document: HomeDocument;
  readonly #name: string;
  readonly #itemsOf: RecordRules<Item>['itemsOf'];

  constructor(document: HomeDocument, name: string, itemsOf?: RecordRules<Item>['itemsOf']) {
    this.#document = document;
    this.#name = name;
    this.#itemsOf = itemsOf;
  }

  /** The records in force. Throws as `state` of the document. */
  get items(): readonly Item[] {
    return this.#in(this.#document.state);
  }

  /** The records as read, verified or not. Only for lists; nothing may act upon them. Throws `file_unreadable`. */
  get shown(): readonly Item[] {
    return this.#in(this.#document.shown);
  }

  /** The same, and none if the file can't be read: for counts, and for what only takes something away. */
  get readable(): readonly Item[] {
    return this.#document.isLoaded ? this.shown : [];
  }

  /**
   * Replaces the records by the result of `edit`, which must have no effect beside its result: it may run again on newer
   * records. As `change` of the document.
   */
  change(edit: (items: readonly Item[]) => readonly Item[]): Promise<void> {
    return this.#document.change((state) => this.#edited(state, edit));
  }

  #edited(state: State, edit: (items: readonly Item[]) => readonly Item[]): State {
    const before = this.#in(state);
    const after = edit(before);
    if (after === before) return state;
    const next = new Map(state).set(this.#name, after);
    return this.#itemsOf ? withUnused(next, before, after, this.#itemsOf) : next;
  }

  /** Records of one name are of one type: the schema of `define` checked those that were read. */
  #in(state: ReadonlyMap<string, readonly unknown[]>): readonly Item[] {
    return (state.get(this.#name) ?? []) as readonly Item[];
  }
}
