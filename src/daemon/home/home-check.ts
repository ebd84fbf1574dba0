/**
 * Compares a home with what its vault keeps about it: whose home it is, whether it is a desk's, and which settings
 * count.
 *
 * Invariants: the vault's item is read at the vault's first use and before each change, never at start-up. At a desk,
 * and in a desk's home, a setting of the table `standing` counts as the vault has it, even if the file says otherwise.
 * If the person at a desk was never asked about what the file says, nothing goes to the network until they answer the
 * card. The vault is written before the file. So a crash in between loses no yes, and nothing counts that nobody said
 * yes to. One change of the item at a time: each starts from what the vault has by then.
 */
import { KeyturnError } from '../../base/errors.ts';
import { mutex } from '../../base/mutex.ts';
import type { Vault } from '../../vault/base/vault.ts';
import { readAuthorities } from '../system/authorities.ts';
import type { AuthoritiesFile } from '../system/authorities.ts';
import {
  differenceOf,
  differences,
  inForce,
  isDeclined,
  nothingConfirmed,
  toConfirmed,
  withSetting,
} from '../settings/confirmed-settings.ts';
import type { Confirmed, Difference } from '../settings/confirmed-settings.ts';
import { closedDesk } from './closed-desk.ts';
import { readHomeItem, writeHomeItem } from './home-item.ts';
import type { HomeItem } from './home-item.ts';
import type { Home } from './home.ts';
import type { WriteLog } from '../system/log.ts';
import type { SettingsBook } from '../settings/settings-book.ts';
import type { SettingName } from '../settings/setting-choices.ts';
import type { Settings } from '../settings/settings.ts';
import { otherHome, vaultName } from './mismatched-home.ts';
import type { Mismatch } from './mismatched-home.ts';
import { SettingsCard } from '../settings/settings-card.ts';
import type { AskAboutSettings } from '../settings/settings-card.ts';
import { answered, decided, unanswered } from './settings-answer.ts';
import { asConfirmed, differencesFrom, readWritten, sameFile } from '../settings/written-settings.ts';
import type { WrittenSettings } from '../settings/written-settings.ts';

export interface HomeCheckParts {
  readonly home: Pick<Home, 'homeId' | 'isNew' | 'hasMaster' | 'vault' | 'keptIn'>;
  readonly book: SettingsBook;
  readonly vault: Vault;
  /**
   * Read first. In a keyring that was exchanged for another this throws, before the missing item `home` can mislead.
   */
  readonly master: () => Promise<unknown>;
  /** The running broker is the tray app. */
  readonly isDesk: boolean;
  /** A vault of this home was opened before this start, as far as its files tell. */
  readonly isOpened: boolean;
  /** Why nothing is served, where the files don't belong together. */
  readonly mismatch: Mismatch | undefined;
  readonly ask: AskAboutSettings;
  /** Makes earlier copies of the document invalid. */
  readonly renewAuthority: () => Promise<void>;
  /** What `state` answers changed, or the settings in force. */
  readonly changed: () => void;
  readonly log: WriteLog;
}

export interface HomeState {
  /** `unchecked`: the vault was not needed yet. `passing`: a memory vault, which remembers nothing of it. */
  readonly state: 'unchecked' | 'checked' | 'passing' | 'strange';
  /** `here`: the app runs. `closed`: a desk's home without its app. */
  readonly desk: 'unknown' | 'none' | 'here' | 'closed' | 'released';
  /** No secret was ever kept. */
  readonly isEmpty: boolean;
  /** The card about the settings waits; until then nothing goes out. */
  readonly isWaiting: boolean;
  readonly why?: string;
  readonly mismatch?: Mismatch['mismatch'];
  readonly differing: readonly Difference[];
}

export class HomeCheck {
  readonly #parts: HomeCheckParts;
  #mismatch: Mismatch | undefined;
  #item: HomeItem | undefined;
  /** What the person answered before the vault was opened. */
  #early: Confirmed | 'no' | undefined;
  #different: readonly Difference[] = [];
  #authorities: AuthoritiesFile | undefined;
  #learning: Promise<void> | undefined;
  readonly #inTurn = mutex();
  readonly #card: SettingsCard;

  constructor(parts: HomeCheckParts) {
    this.#parts = parts;
    this.#card = new SettingsCard(parts.ask, () => parts.changed());
    this.#mismatch = parts.mismatch;
  }

  /**
   * At start-up: asks about the settings of a home that this start made, and with a memory vault, which has
   * forgotten every answer. Opens no vault.
   */
  begin(): void {
    const { home, vault, isDesk } = this.#parts;
    if (this.#mismatch || !isDesk || !(home.isNew || vault.kind === 'memory')) return;
    this.#different = this.#differencesFrom(nothingConfirmed);
    if (this.#different.length > 0) this.#askOnce();
  }

  /**
   * Resolves once the vault has said whose home this is. Throws what the vault throws, and why a mismatched home
   * serves nothing.
   */
  async verify(): Promise<void> {
    this.refuseMismatch();
    if (this.#item) return;
    this.#learning ??= this.#learn().finally(() => (this.#learning = undefined));
    await this.#learning;
  }

  /** True once `verify` would do nothing. */
  get isVerified(): boolean {
    return this.#item !== undefined && !this.#mismatch;
  }

  /** Throws why nothing is served, where the home is known not to be this vault's. */
  refuseMismatch(): void {
    if (this.#mismatch) throw this.#mismatch;
  }

  /** Before anything goes to the network or to a browser. Throws as `verify`, and `consent_pending`. */
  async settled(): Promise<void> {
    await this.verify();
    await this.#card.taking;
    if (!this.#isUndecided) return;
    this.#askOnce();
    throw unanswered(this.#different);
  }

  /** Before something is widened without a person at this broker. Throws as `verify`, and `not_permitted`. */
  async requireOpen(): Promise<void> {
    if (this.#parts.isDesk) return;
    await this.verify();
    await this.#lookAgain();
    if (this.isClosed) throw closedDesk();
  }

  /** True once it is known that this is a desk's home without its app. */
  get isClosed(): boolean {
    return !this.#parts.isDesk && this.#item?.desk === 'marked';
  }

  /** True once a vault of this home was opened. */
  get hasMaster(): boolean {
    const { home, vault, isOpened } = this.#parts;
    return isOpened || home.hasMaster || vault.kind === 'memory';
  }

  /** The authorities to trust besides the system's. */
  get authorities(): AuthoritiesFile | undefined {
    return this.#authorities;
  }

  get state(): HomeState {
    const { vault } = this.#parts;
    const common = {
      desk: this.#deskState(),
      isEmpty: !this.hasMaster,
      differing: this.#different,
      isWaiting: this.#isWaiting,
    };
    if (this.#mismatch) {
      const { message, mismatch } = this.#mismatch;
      return { ...common, state: 'strange', why: message, mismatch };
    }
    if (vault.kind === 'memory') return { ...common, state: 'passing' };
    return { ...common, state: this.#item ? 'checked' : 'unchecked' };
  }

  /**
   * The owner sets it, with a yes where one was needed. The vault is written, then the caller writes the file. In a
   * desk's home without its app the vault's settings decide what widens: file and variables may say anything. Throws
   * as `settled` and `requireOpen`, and `file_unreadable` for authorities that can't be read.
   */
  async vouchFor(name: SettingName, value: Settings[SettingName]): Promise<void> {
    // No vault was ever opened: its first use notes what the file says by then.
    if (!this.#parts.isDesk && !this.hasMaster) return;
    await this.settled();
    await this.#lookAgain();
    const authorities =
      name === 'extraAuthorities' && typeof value === 'string' ? readAuthorities(value) : this.#authorities;
    await this.#change((item) => {
      const kept = this.#governs(item) ? 'settings' : 'seen';
      const confirmed = item[kept] ?? nothingConfirmed;
      if (this.isClosed && differenceOf(name, value, confirmed, authorities)) throw closedDesk();
      return { ...item, [kept]: withSetting(confirmed, name, value, authorities) };
    });
    this.#different = this.#different.filter((difference) => difference.name !== name);
  }

  /**
   * The app opened the vault: from now on a headless broker widens nothing here. One may have run on a copy of this
   * home until now, so what it added there must not count here: `renew` comes first. A home whose files can't be
   * renewed now is marked at the next start.
   */
  async mark(renew: () => Promise<void>): Promise<void> {
    await this.verify();
    if (!this.#parts.isDesk || this.#known().desk !== 'none') return;
    try {
      await renew();
      await this.#change((item) => ({ ...item, desk: 'marked' }));
    } catch (error) {
      const why = error instanceof KeyturnError ? error.message : 'a file could not be written';
      this.#parts.log(`a broker without a window may still widen here: ${why}`, 'warn');
    }
  }

  /** The person gives the home free for headless brokers, or takes that back. Only for the window of a desk. */
  async release(isReleased: boolean): Promise<void> {
    await this.verify();
    if (!isReleased) await this.#parts.renewAuthority();
    await this.#change((item) => ({ ...item, desk: isReleased ? 'released' : 'marked' }));
    this.#parts.changed();
  }

  async #learn(): Promise<void> {
    const { home, book, vault, master, isDesk, changed } = this.#parts;
    const before = JSON.stringify(this.state);
    if (vault.kind !== 'memory') {
      await master();
      // The first time: the master is here, so this is the home's vault.
      if (home.vault === undefined) await home.keptIn(vaultName(book.current.vault, book.current.vaultKey));
    }
    const found = await readHomeItem(vault);
    if (found && found.homeId !== home.homeId) {
      this.#mismatch = otherHome();
      changed();
      throw this.#mismatch;
    }
    const item = found ?? { version: 1, homeId: home.homeId, desk: 'none' };
    if (isDesk) await this.#learnAtDesk(item);
    else if (item.desk === 'marked') this.#governBy(item);
    else await this.#learnHeadless(item);
    if (JSON.stringify(this.state) !== before) changed();
  }

  /** An app may have opened the vault since: this broker may run on a copy of its home. */
  async #lookAgain(): Promise<void> {
    const { isDesk, vault } = this.#parts;
    if (isDesk || this.isClosed || vault.kind === 'memory') return;
    const found = await readHomeItem(vault);
    if (found?.desk === 'marked') this.#governBy(found);
  }

  async #learnAtDesk(item: HomeItem): Promise<void> {
    const known = decided(item, this.#written(), this.#early);
    if (known !== item) await this.#write(known);
    this.#governBy(known);
    if (this.#isUndecided || !isDeclined(this.#different, known.declined)) this.#askOnce();
  }

  /** The vault's settings count. */
  #governBy(item: HomeItem): void {
    const { book } = this.#parts;
    this.#item = item;
    const confirmed = item.settings ?? nothingConfirmed;
    this.#different = this.#differencesFrom(confirmed);
    book.goBy(inForce(book.written, this.#different), this.#different);
    const { extraAuthorities } = book.current;
    this.#authorities = extraAuthorities === undefined ? undefined : sameFile(extraAuthorities, confirmed);
  }

  /** What was written counts, and the vault remembers it. */
  async #learnHeadless(item: HomeItem): Promise<void> {
    const { book, log } = this.#parts;
    const { extraAuthorities } = book.written;
    this.#authorities = extraAuthorities === undefined ? undefined : readAuthorities(extraAuthorities);
    this.#different = item.seen ? differences(book.written, item.seen, this.#authorities) : [];
    const names = this.#different.map(({ name }) => name);
    if (names.length > 0) {
      log(
        `settings were changed since the vault last vouched for them, and count: ${names.join(', ')}`,
        'warn',
      );
    }
    if (!item.seen || names.length > 0) {
      await this.#write({ ...item, seen: toConfirmed(book.written, this.#authorities) });
    }
    this.#item ??= item;
  }

  #askOnce(): void {
    if (this.#different.length === 0 || this.#card.isOpen) return;
    const asked = this.#different;
    const shown = this.#written();
    this.#card.show(asked, (verdict) => this.#take(verdict, asked, shown));
  }

  async #take(verdict: 'yes' | 'no', asked: readonly Difference[], shown: WrittenSettings): Promise<void> {
    if (!this.#item) {
      this.#early = verdict === 'yes' ? asConfirmed(shown) : 'no';
      return;
    }
    // What the vault didn't take was not answered: the card comes back at the next start.
    try {
      await this.#change((item) => answered(item, verdict, { asked, shown, now: this.#written() }));
      this.#governBy(this.#known());
    } catch {
      this.#parts.log('the vault did not take the answer about the settings', 'warn');
    }
  }

  /**
   * For an item that is known. Two callers at once would otherwise each start from the same item, and one would be
   * lost. The vault is read again, since a broker on a copy of this home may have written meanwhile.
   */
  #change(change: (item: HomeItem) => HomeItem): Promise<void> {
    return this.#inTurn(async () => {
      const newest = (await readHomeItem(this.#parts.vault)) ?? this.#known();
      await this.#write(change(newest));
    });
  }

  async #write(item: HomeItem): Promise<void> {
    await writeHomeItem(this.#parts.vault, item);
    this.#item = item;
  }

  #known(): HomeItem {
    if (this.#item) return this.#item;
    throw new Error('the home was not checked yet');
  }

  /** The settings that a person confirmed count here. */
  #governs({ desk }: HomeItem): boolean {
    return this.#parts.isDesk || desk === 'marked';
  }

  get #isUndecided(): boolean {
    return this.#parts.isDesk && this.#item !== undefined && this.#item.settings === undefined;
  }

  get #isWaiting(): boolean {
    return this.#isUndecided || (this.#item === undefined && this.#card.isOpen);
  }

  #deskState(): HomeState['desk'] {
    const { isDesk } = this.#parts;
    if (isDesk) return this.#item?.desk === 'released' ? 'released' : 'here';
    if (!this.#item) return 'unknown';
    return ({ none: 'none', marked: 'closed', released: 'released' } as const)[this.#item.desk];
  }

  #differencesFrom(confirmed: Confirmed): Difference[] {
    return differencesFrom(this.#written(), confirmed);
  }

  #written(): WrittenSettings {
    return readWritten(this.#parts.book.written);
  }
}
