/**
 * Compares a home with what its document keeps about it: who approves, and which settings are in force.
 *
 * Invariants: the document's record is read once the document is verified, never at start-up. While the app runs, and
 * in an app's home, a setting of the table `trustRequired` is in force as the document has it, even if the file says
 * otherwise. If the user of the app was never asked about what the file says, nothing goes to the network until they
 * answer the card. The document is written before the file. So a crash in between loses no yes, and nothing is in force
 * that nobody said yes to.
 */
import { isDeepStrictEqual } from 'node:util';
import { KeyturnError } from '../../base/errors.ts';
import type { DocumentList } from '../../store/authority.ts';
import type { AuthorityDocument } from '../../store/document.ts';
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
import type { ConfirmedSettings, Difference } from '../settings/confirmed-settings.ts';
import { appClosed } from './app-closed.ts';
import type { HomeRecord } from './home-record.ts';
import type { Home } from './home.ts';
import type { WriteLog } from '../system/log.ts';
import type { SettingsBook } from '../settings/settings-book.ts';
import type { SettingName } from '../settings/setting-choices.ts';
import type { Settings } from '../settings/settings.ts';
import type { Mismatch } from './mismatched-home.ts';
import { SettingsCard } from '../settings/settings-card.ts';
import type { SettingsQuestion, AskAboutSettings } from '../settings/settings-card.ts';
import type { AllowedGroup } from '../../broker/approval-requests/question.ts';
import { allowedIn, removeAllowed } from './first-use.ts';
import type { AllowedRecords } from './first-use.ts';
import { answered, decided, unanswered } from './settings-answer.ts';
import { asConfirmed, differencesFrom, readWritten, sameFile } from '../settings/written-settings.ts';
import type { WrittenSettings } from '../settings/written-settings.ts';

export interface HomeCheckParts {
  readonly home: Pick<Home, 'isNew' | 'document'>;
  readonly book: SettingsBook;
  readonly vault: Pick<Vault, 'kind'>;
  readonly document: Pick<AuthorityDocument, 'verify' | 'confirm'>;
  /** One record at most. */
  readonly records: Pick<DocumentList<HomeRecord>, 'items' | 'change'>;
  /** The running broker is the tray app. */
  readonly isKeyturnApp: boolean;
  /** Why nothing is served, if the files don't belong together. */
  readonly mismatch: Mismatch | undefined;
  readonly ask: AskAboutSettings;
  /** What the home allows. */
  readonly allowed: AllowedRecords;
  /** Milliseconds since 1970. */
  readonly wall: () => number;
  /** What `state` answers changed, or the settings in force. */
  readonly changed: () => void;
  readonly log: WriteLog;
}

export interface HomeState {
  /** `unchecked`: the vault was not needed yet. `memory`: its vault remembers nothing of it. */
  readonly state: 'unchecked' | 'checked' | 'memory' | 'mismatched';
  /** `closed`: an app's home without its app. `released`: brokers without a window may grant access there. */
  readonly keyturnApp: 'unknown' | 'none' | 'running' | 'closed' | 'released';
  /** No secret was ever kept. */
  readonly isEmpty: boolean;
  /** The card about the settings waits; until then nothing goes out. */
  readonly isWaiting: boolean;
  readonly why?: string;
  readonly differing: readonly Difference[];
}

export class HomeCheck {
  readonly #parts: HomeCheckParts;
  readonly #mismatch: Mismatch | undefined;
  #record: HomeRecord | undefined;
  /** What the user answered before the vault was opened. */
  #early: ConfirmedSettings | 'no' | undefined;
  #different: readonly Difference[] = [];
  /** At the app's first use, until it is answered. */
  #allowed: readonly AllowedGroup[] = [];
  #authorities: AuthoritiesFile | undefined;
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
    const { home, vault, isKeyturnApp } = this.#parts;
    if (this.#mismatch || !isKeyturnApp || !(home.isNew || vault.kind === 'memory')) return;
    this.#different = this.#differencesFrom(nothingConfirmed);
    if (this.#different.length > 0) this.#askOnce();
  }

  /** Throws why nothing is served, if the home is known not to be this vault's. */
  refuseMismatch(): void {
    if (this.#mismatch) throw this.#mismatch;
  }

  /** Before anything goes to the network or to a browser. Throws as the document's `verify`, `file_unreadable`, `consent_pending`. */
  async requireSettled(): Promise<void> {
    await this.#parts.document.verify();
    this.#known();
    await this.#card.taking;
    if (!this.#isUndecided) return;
    this.#askOnce();
    throw unanswered(this.#asked);
  }

  /** Before anything is served: `requireSettled`, until the user said what stays allowed. Undefined: nothing waits. */
  decision(): Promise<void> | undefined {
    return this.#isUndecided && this.#allowed.length > 0 ? this.requireSettled() : undefined;
  }

  /** Before something is widened. Throws as the document's `verify`, `not_permitted` while the app is closed, and `consent_pending`. */
  async requireOpen(): Promise<void> {
    if (this.#parts.isKeyturnApp) return this.decision();
    await this.#parts.document.verify();
    this.#known();
    if (this.isClosed) throw appClosed();
    // This broker may run on a copy of a home that an app has used since.
    await this.#parts.document.confirm();
  }

  /** True once it is known that this is an app's home without its app. */
  get isClosed(): boolean {
    return !this.#parts.isKeyturnApp && this.#record?.approvals === 'app';
  }

  /** True once a vault of this home was opened. */
  get hasRoot(): boolean {
    const { home, vault } = this.#parts;
    return home.document !== undefined || this.#record !== undefined || vault.kind === 'memory';
  }

  /** The authorities to trust besides the system's. */
  get authorities(): AuthoritiesFile | undefined {
    return this.#authorities;
  }

  get state(): HomeState {
    const { vault } = this.#parts;
    const common = {
      keyturnApp: this.#appState(),
      isEmpty: !this.hasRoot,
      differing: this.#different,
      isWaiting: this.#isWaiting,
    };
    if (this.#mismatch) {
      return { ...common, state: 'mismatched', why: this.#mismatch.message };
    }
    if (vault.kind === 'memory') return { ...common, state: 'memory' };
    return { ...common, state: this.#record ? 'checked' : 'unchecked' };
  }

  /**
   * The owner sets it, with a yes where one was needed. The document is written, then the caller writes the file. While
   * the Keyturn app of this home is closed, the document's settings decide what widens: file and variables may say anything. Throws
   * as `requireSettled` and `requireOpen`, and `file_unreadable` for authorities that can't be read.
   */
  async confirm(name: SettingName, value: Settings[SettingName]): Promise<void> {
    // No vault was ever opened: its first use notes what the file says by then.
    if (!this.#parts.isKeyturnApp && !this.hasRoot) return;
    await this.requireSettled();
    const authorities =
      name === 'extraAuthorities' && typeof value === 'string' ? readAuthorities(value) : this.#authorities;
    await this.#change((record) => {
      const kept = this.#governs(record) ? 'settings' : 'seen';
      const confirmed = record[kept] ?? nothingConfirmed;
      if (this.isClosed && differenceOf(name, value, confirmed, authorities)) throw appClosed();
      return { ...record, [kept]: withSetting(confirmed, name, value, authorities) };
    });
    this.#different = this.#different.filter((difference) => difference.name !== name);
  }

  /** The user gives the home free for headless brokers, or takes that back. Only for the app's window. */
  async release(isReleased: boolean): Promise<void> {
    await this.#parts.document.verify();
    await this.requireOpen();
    await this.#change((record) => ({ ...record, approvals: isReleased ? 'released' : 'app' }));
    this.#parts.changed();
  }

  /**
   * A step of the document's verification. The app's first use, once it is answered, notes that a headless broker
   * widens nothing here any more: that makes every copy of the document an older one.
   */
  async load(): Promise<void> {
    const { isKeyturnApp, records, changed } = this.#parts;
    const before = JSON.stringify(this.state);
    const record = records.items[0] ?? { approvals: 'command' };
    if (isKeyturnApp) await this.#loadInApp(record);
    else if (record.approvals === 'app') this.#applyConfirmed(record);
    else await this.#loadHeadless(record);
    if (JSON.stringify(this.state) !== before) changed();
  }

  async #loadInApp(record: HomeRecord): Promise<void> {
    if (record.settings === undefined) this.#allowed = allowedIn(this.#parts.allowed);
    const known = this.#allowed.length > 0 ? record : decided(record, this.#written(), this.#early);
    // Until it is answered, nothing is noted: a start after a crash asks again.
    const isDecided = known.settings !== undefined;
    const noted =
      isDecided && known.approvals === 'command' ? { ...known, approvals: 'app' as const } : known;
    // Nothing is served before it is noted: else a broker without a window could grant access here after the app.
    if (noted.approvals !== record.approvals) await this.#parts.records.change(() => [noted]);
    else if (isDecided) await this.#keep(record, noted);
    this.#applyConfirmed(noted);
    if (this.#isUndecided || !isDeclined(this.#different, known.declined)) this.#askOnce();
  }

  /** The document's settings are in force. */
  #applyConfirmed(record: HomeRecord): void {
    const { book } = this.#parts;
    this.#record = record;
    const confirmed = record.settings ?? nothingConfirmed;
    this.#different = this.#differencesFrom(confirmed);
    book.applyConfirmed(inForce(book.written, this.#different), this.#different);
    const { extraAuthorities } = book.current;
    this.#authorities = extraAuthorities === undefined ? undefined : sameFile(extraAuthorities, confirmed);
  }

  /** What was written is in force, and the document remembers it. */
  async #loadHeadless(record: HomeRecord): Promise<void> {
    const { book, log } = this.#parts;
    const { extraAuthorities } = book.written;
    this.#authorities = extraAuthorities === undefined ? undefined : readAuthorities(extraAuthorities);
    this.#different = record.seen ? differences(book.written, record.seen, this.#authorities) : [];
    const names = this.#different.map(({ name }) => name);
    if (names.length > 0)
      log(`settings were changed since the last start, and are in force: ${names.join(', ')}`, 'warn');
    const isNews = !record.seen || names.length > 0;
    const known = isNews ? { ...record, seen: toConfirmed(book.written, this.#authorities) } : record;
    await this.#keep(record, known);
    this.#record = known;
  }

  /** If it can't be stored now, the next start learns it again. */
  async #keep(before: HomeRecord, known: HomeRecord): Promise<void> {
    if (isDeepStrictEqual(before, known)) return;
    const { records, log } = this.#parts;
    try {
      await records.change(() => [known]);
    } catch (error) {
      const why = error instanceof KeyturnError ? error.message : 'the document could not be written';
      log(`what was learned of the settings was not stored: ${why}`, 'warn');
    }
  }

  #askOnce(): void {
    const asked = this.#asked;
    if (asked.different.length + asked.allowed.length === 0 || this.#card.isOpen) return;
    const shown = this.#written();
    this.#card.show(asked, (verdict) => this.#take(verdict, asked, shown));
  }

  async #take(verdict: 'yes' | 'no', asked: SettingsQuestion, shown: WrittenSettings): Promise<void> {
    if (!this.#record) {
      this.#early = verdict === 'yes' ? asConfirmed(shown) : 'no';
      return;
    }
    // What was not stored was not answered: the card comes back at the next start.
    try {
      if (verdict === 'no' && asked.allowed.length > 0)
        await removeAllowed(this.#parts.allowed, this.#parts.wall());
      await this.#change((record) => {
        const given = { asked: asked.different, shown, now: this.#written() };
        const approvals = record.approvals === 'command' ? 'app' : record.approvals;
        return { ...answered(record, verdict, given), approvals };
      });
      this.#allowed = [];
      this.#applyConfirmed(this.#known());
    } catch {
      this.#parts.log('the answer about the settings could not be stored', 'warn');
    }
  }

  async #change(change: (record: HomeRecord) => HomeRecord): Promise<void> {
    const { records } = this.#parts;
    const known = this.#known();
    await records.change(([record = known]) => [change(record)]);
    this.#record = records.items[0] ?? known;
  }

  /** Throws why the document is refused. */
  #known(): HomeRecord {
    if (this.#record) return this.#record;
    void this.#parts.records.items;
    throw new Error('the home was not checked yet');
  }

  /** The settings that a user confirmed count here. */
  #governs({ approvals }: HomeRecord): boolean {
    return this.#parts.isKeyturnApp || approvals === 'app';
  }

  get #asked(): SettingsQuestion {
    return { different: this.#different, allowed: this.#allowed };
  }

  get #isUndecided(): boolean {
    return this.#parts.isKeyturnApp && this.#record !== undefined && this.#record.settings === undefined;
  }

  get #isWaiting(): boolean {
    return this.#isUndecided || (this.#record === undefined && this.#card.isOpen);
  }

  #appState(): HomeState['keyturnApp'] {
    const { isKeyturnApp } = this.#parts;
    if (isKeyturnApp) return this.#record?.approvals === 'released' ? 'released' : 'running';
    if (!this.#record) return 'unknown';
    return ({ command: 'none', app: 'closed', released: 'released' } as const)[this.#record.approvals];
  }

  #differencesFrom(confirmed: ConfirmedSettings): Difference[] {
    return differencesFrom(this.#written(), confirmed);
  }

  #written(): WrittenSettings {
    return readWritten(this.#parts.book.written);
  }
}
