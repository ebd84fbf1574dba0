/**
 * The document: every fact that decides or is listed, in one signed file (document.json) that is replaced whole.
 *
 * The vault's item `newest` has number and id of the newest document, so an older copy is refused. A change:
 *
 *   1. read `newest`                            if this fails: giving is refused, taking away goes on
 *   2. what takes away takes effect in memory   (at once, before its turn)
 *   3. replace the file                         after a crash here, the next start accepts the new file
 *   4. set `newest`                             if this fails: the change is in effect, and the number is owed
 *   5. what gives takes effect
 *
 * Invariants: nothing decides before the document is verified; it can be listed before. A document that is refused is
 * never replaced. All changes that wait share one write. While the number is owed, only taking away is accepted, and
 * replaces the same number. If the file can't be written, what takes away holds until the broker ends, and the vault
 * notes that the next start begins paused (`held`), until something is given. If another broker has set `newest`,
 * nothing decides any more.
 */
import type { KeyObject } from 'node:crypto';
import { KeyturnError } from '../base/errors.ts';
import { readPrivate, replaceFile, unreadableFile } from '../base/private/private-file.ts';
import { isOtherBroker, notStored, older, refusalOf, troubleWith, unreadable } from './document-refusals.ts';
import type { FileTrouble } from './document-refusals.ts';
import { documentText, readDocument } from './document-text.ts';
import type { Place, ReadDocument } from './document-text.ts';
import { takesAway } from './list-rules.ts';
import type { ListRules, State } from './list-rules.ts';
import type { Numbers } from './newest.ts';

export interface DocumentParts {
  /** Absolute path of document.json; undefined: the document ends with the broker, as a memory vault does. */
  readonly file: string | undefined;
  readonly place: Place;
  /** The key of the HMAC. Called until it succeeds. Throws the vault's errors. */
  readonly key: () => Promise<KeyObject>;
  readonly numbers: Numbers;
}

/** A state made of another one. It has no effect beside its result: it may run again on a newer state. */
export type Change = (state: State) => State;

/** A change that waits for its write. */
interface Waiting extends PromiseWithResolvers<void> {
  readonly change: Change;
  /** It is in effect already. */
  readonly takes: boolean;
}

const emptyState: State = new Map();

export class HomeDocument {
  readonly path: string;
  readonly #parts: DocumentParts;
  readonly #lists = new Map<string, ListRules>();
  readonly #afterwards: (() => Promise<void>)[] = [];
  /** The file as read; `absent` if there is none. */
  #read: ReadDocument | 'absent' | undefined;
  #trouble: KeyturnError | undefined;
  #key: KeyObject | undefined;
  #verifying: Promise<void> | undefined;
  /** The state that decides; undefined until it is verified. */
  #inEffect: State | undefined;
  #waiting: Waiting[] = [];
  /** What takes away and is not on the disk, also after its write failed. */
  #unsaved: Waiting[] = [];
  #isWriting = false;
  #isHeld = false;
  /** The file was verified or refused. */
  isJudged = false;

  constructor(parts: DocumentParts) {
    this.#parts = parts;
    this.path = parts.file ?? 'memory';
  }

  /** Before the file is read: which lists there are. */
  define(name: string, rules: ListRules): void {
    this.#lists.set(name, rules);
  }

  /** Runs `step` after the verification, and again if one of the steps failed. `step` may change the document. */
  afterwards(step: () => Promise<void>): void {
    this.#afterwards.push(step);
  }

  /**
   * The state that decides. Throws `file_unreadable` before the verification and if the document is refused, and
   * `vault_unreadable` if another broker has changed this home.
   */
  get state(): State {
    if (this.#inEffect && !this.#trouble) return this.#inEffect;
    throw this.#trouble ?? unreadableFile(this.path, 'it was not verified yet', 'Try again.');
  }

  /** Verified or not: only for lists. Throws `file_unreadable`. */
  get shown(): State {
    if (this.#inEffect) return this.#inEffect;
    if (this.#read === undefined)
      throw this.#trouble ?? unreadableFile(this.path, 'it was not loaded', 'Try again.');
    return this.#read === 'absent' ? emptyState : this.#read.state;
  }

  /** The names of the vault's items that records have. Throws as `state`. */
  get itemNames(): ReadonlySet<string> {
    return this.itemNamesIn(this.state);
  }

  itemNamesIn(state: State): ReadonlySet<string> {
    const lists = [...state].map(([name, items]) => ({ items, itemsOf: this.#lists.get(name)?.itemsOf }));
    return new Set(lists.flatMap(({ items, itemsOf }) => items.flatMap((item) => itemsOf?.(item) ?? [])));
  }

  get isLoaded(): boolean {
    return this.#read !== undefined;
  }

  /** There was no file, and nothing has verified that there should be none. */
  get isAbsent(): boolean {
    return this.#read === 'absent' && !this.#inEffect;
  }

  /** It has records that nothing has verified since the start. */
  get isUnverified(): boolean {
    return typeof this.#read === 'object' && !this.#inEffect && !this.#trouble;
  }

  get trouble(): FileTrouble | undefined {
    return this.#trouble && troubleWith(this.path, this.#trouble);
  }

  /** True if a broker before this one took something away and could not store it, and nothing was given since. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** True while the vault doesn't have the number of the document on the disk. */
  get isOwed(): boolean {
    return this.#inEffect !== undefined && this.#parts.numbers.isOwed;
  }

  /** Of the newest document that the vault has. */
  get number(): number {
    return this.#parts.numbers.noted;
  }

  /** An item of the vault was written beside document `number`. If that is newer, nothing decides here any more. */
  requireAsNew(number: number): void {
    if (number > this.number) throw (this.#trouble = older(this.path));
  }

  /** Reads the file once; after a failure each call tries again. Throws `file_unreadable`. */
  async load(): Promise<void> {
    if (this.#read) return;
    const { file } = this.#parts;
    try {
      const bytes = file === undefined ? undefined : await readPrivate(file);
      this.#read = bytes ? this.#parsed(bytes) : 'absent';
      this.#trouble = undefined;
    } catch (error) {
      if (error instanceof KeyturnError) this.#trouble = error;
      throw error;
    }
  }

  #parsed(bytes: Buffer): ReadDocument {
    try {
      return readDocument(this.path, bytes, this.#lists);
    } catch (error) {
      throw unreadable(this.path, error);
    }
  }

  /**
   * Resolves once the document is verified or refused, which `state` then throws. After a success it does nothing, so
   * that a token from memory never waits for the vault. Throws the vault's errors.
   */
  async verify(): Promise<void> {
    if (this.isJudged) return;
    this.#verifying ??= this.#verify().finally(() => (this.#verifying = undefined));
    await this.#verifying;
  }

  /** Writes the number that the vault lacks. Never rejects. */
  async settle(): Promise<void> {
    if (this.isOwed) await this.#queued(asIs, false).catch(() => undefined);
  }

  /**
   * Resolves when the change is in effect and on the disk. Throws the errors of `change` and of the vault, and
   * `file_unreadable`; what takes away is then in effect until the broker ends.
   */
  async change(change: Change): Promise<void> {
    // Not once there is a state: a step of `afterwards` would wait for itself.
    if (!this.#inEffect) await this.verify();
    const before = this.state;
    const after = change(before);
    if (after === before) return;
    const takes = takesAway(before, after, this.#lists);
    if (takes) this.#inEffect = after;
    await this.#queued(change, takes);
  }

  async #queued(change: Change, takes: boolean): Promise<void> {
    const mine = { ...Promise.withResolvers<void>(), change, takes };
    this.#waiting.push(mine);
    if (takes) this.#unsaved.push(mine);
    if (!this.#isWriting) void this.#writeAll();
    await mine.promise;
  }

  /**
   * Before a secret is used: no other broker works on a copy of this home. If one does, nothing decides here any more.
   * Throws that, and the vault's errors.
   */
  async requireNewest(): Promise<void> {
    await this.verify();
    void this.state;
    await this.#ours(this.#parts.numbers.read());
  }

  async #verify(): Promise<void> {
    await this.load().catch(() => undefined);
    // The key first: in another keyring it is missing, which says more than a missing number.
    this.#key ??= await this.#parts.key();
    if (this.#read && !this.#inEffect && !this.#trouble) await this.#judge(this.#read, this.#key);
    if (this.#inEffect) for (const step of this.#afterwards) await step();
    this.isJudged = true;
  }

  async #judge(read: ReadDocument | 'absent', key: KeyObject): Promise<void> {
    const { place, numbers } = this.#parts;
    const found = read === 'absent' ? undefined : read;
    const isOurs = found?.home === place.home && found.isGenuine(key);
    const known = await numbers.first(isOurs);
    this.#trouble = refusalOf(this.path, { found, isOurs, known });
    if (this.#trouble) return;
    numbers.begin(found ?? known, known);
    this.#isHeld = known?.held === true;
    this.#inEffect = found?.state ?? emptyState;
    // A broker ended between its two writes: the vault follows.
    if (this.isOwed) await this.#noteIfPossible().catch(() => undefined);
  }

  /** One document after another, until nothing waits. Never rejects. */
  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    do {
      const batch = this.#waiting;
      this.#waiting = [];
      await this.#write(batch).catch((error: unknown) => {
        for (const { takes, reject } of batch) reject(takes ? notStored(error) : error);
      });
    } while (this.#waiting.length > 0);
    // In the same moment as that look: else a change that comes between them would wait for the next one.
    this.#isWriting = false;
  }

  /** One document for all of these. Throws `file_unreadable`, and the vault's errors. */
  async #write(batch: readonly Waiting[]): Promise<void> {
    const { numbers } = this.#parts;
    const unread = await this.#ours(numbers.learn()).then(() => undefined, asIs);
    if (isOtherBroker(unread)) throw unread;
    const refusal = unread ?? (this.isOwed ? await this.#note().then(() => undefined, asIs) : undefined);
    let next = this.state;
    for (const one of batch.filter(({ takes }) => !takes)) next = applied(one, next, refusal);
    const hasGiven = next !== this.state;
    if (hasGiven || this.#unsaved.length > 0) {
      // Before the first document, so that the next start doesn't refuse it.
      if (numbers.isFirst) await this.#note();
      const saved = [...this.#unsaved];
      const isDurable = await this.#replacedOrHeld(next);
      this.#unsaved = this.#unsaved.filter((one) => !saved.includes(one));
      // Not by a step of the verification: the pause that follows from it is stored after that.
      if (hasGiven && this.isJudged) this.#isHeld = false;
      if (isDurable && unread === undefined) await this.#noteIfPossible();
      this.#inEffect = this.#unsaved.reduce((state, one) => applied(one, state), next);
    }
    for (const { resolve } of batch) resolve();
  }

  /** Steps 1 and 4. If another broker works on a copy, nothing decides here any more. */
  async #ours<T>(work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      if (isOtherBroker(error)) this.#trouble = error;
      throw error;
    });
  }

  /** If the file can't be replaced, the next start must not go on as if nothing had been taken away. */
  async #replacedOrHeld(state: State): Promise<boolean> {
    try {
      return await this.#replace(state);
    } catch (failure) {
      if (!this.isOwed && this.#unsaved.length > 0) await this.#note().catch(() => undefined);
      throw failure;
    }
  }

  /** Step 3. False if a power cut could still undo it. Throws `file_unreadable`; then nothing was stored. */
  async #replace(state: State): Promise<boolean> {
    const { file, place, numbers } = this.#parts;
    const next = numbers.next();
    let isDurable = true;
    if (file !== undefined && this.#key)
      isDurable = await replaced(file, documentText({ ...place, ...next }, state, this.#key));
    numbers.wrote(next);
    return isDurable;
  }

  /** Step 4. Throws the vault's errors. */
  #note(): Promise<void> {
    return this.#ours(this.#parts.numbers.note(this.#isHeld || this.#unsaved.length > 0));
  }

  /** Else the number is owed. Throws that another broker works on a copy. */
  async #noteIfPossible(): Promise<void> {
    await this.#note().catch((error: unknown) => {
      if (isOtherBroker(error)) throw error;
    });
  }
}

const asIs = <T>(value: T): T => value;

/** The state after this change; the same one if it is refused, which its caller learns. */
function applied({ change, reject }: Waiting, state: State, refusal?: unknown): State {
  try {
    if (refusal !== undefined) throw refusal;
    return change(state);
  } catch (error) {
    reject(error);
    return state;
  }
}

/** False if only the sync of the folder failed: the new file is there, and a power cut could undo it. */
async function replaced(file: string, text: string): Promise<boolean> {
  try {
    await replaceFile(file, text);
    return true;
  } catch (error) {
    const found = await readPrivate(file).catch(() => undefined);
    if (found?.equals(Buffer.from(text)) !== true) throw error;
    return false;
  }
}
