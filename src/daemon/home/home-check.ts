/**
 * Who may approve in this home (the folders of one Keyturn), and which settings are in force: what the home's document
 * says, against what the settings file says.
 *
 * The document (`document.json`) has all records of the home: sign-ins, permissions, approved settings. Only a broker with
 * the home's vault can write it, while any program of the user can write the settings file. The Keyturn app is the desktop
 * app. Once it was used with a home, its window approves there, and the settings that need approval (`trustRequired`) are
 * in force as the document has them, whatever the file says.
 *
 * Invariants: the document's record is read once the document is verified, never at start-up. If the user of the Keyturn
 * app was never asked about what the file says, nothing goes to the network until they answer the card. The document is
 * written before the file: a crash in between loses no answer, and nothing is in force that nobody approved.
 */
import { isDeepStrictEqual } from 'node:util';
import { KeyturnError } from '../../base/errors.ts';
import type { DocumentList } from '../../store/home-document.ts';
import type { HomeDocument } from '../../store/document.ts';
import type { Vault } from '../../vault/base/vault.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { readExtraAuthorities, type ExtraAuthorities } from '../system/authorities.ts';
import {
  differenceOf,
  differences,
  inForce,
  isDenied,
  nothingApproved,
  readWritten,
  sameFile,
  toApproved,
  withSetting,
  type ApprovedSettings,
  type Difference,
  type WrittenSettings,
} from '../settings/approved-settings.ts';
import { appClosed } from './app-closed.ts';
import type { HomeRecord } from './home-record.ts';
import type { Home } from './home.ts';
import type { WriteLog } from '../system/log.ts';
import type { SettingsBook } from '../settings/settings-book.ts';
import type { SettingName } from '../settings/setting-choices.ts';
import type { Settings } from '../settings/settings.ts';
import type { Mismatch } from './mismatched-home.ts';
import { SettingsCard, type SettingsQuestion, type AskAboutSettings } from '../settings/settings-card.ts';
import type { AllowedGroup } from '../../broker/approval-requests/question.ts';
import { allowedIn, removeAllowed, type AllowedRecords } from './first-use.ts';
import { answered, decided, unanswered } from './settings-answer.ts';

interface HomeCheckParts {
  readonly home: Pick<Home, 'isNew' | 'document'>;
  readonly book: SettingsBook;
  readonly vault: Pick<Vault, 'kind'>;
  readonly document: Pick<HomeDocument, 'verify' | 'requireNewest'>;
  /** One record at most. */
  readonly records: Pick<DocumentList<HomeRecord>, 'items' | 'change'>;
  readonly isKeyturnApp: boolean;
  /** Why nothing is served, if the files don't belong together. */
  readonly mismatch: Mismatch | undefined;
  readonly ask: AskAboutSettings;
  /** Sign-ins, apps, permissions and other records that grant access. */
  readonly allowed: AllowedRecords;
  /** Milliseconds since 1970. */
  readonly wall: () => number;
  /** What `state` answers changed, or the settings in force. */
  readonly changed: () => void;
  readonly log: WriteLog;
}

type HomeState = Omit<ResultOf<'status'>['homeState'], 'differing'> & {
  /** From the approved settings; where a broker without a window decides, from those that it used last. */
  readonly differing: readonly Difference[];
};

export class HomeCheck {
  readonly #parts: HomeCheckParts;
  readonly #mismatch: Mismatch | undefined;
  #record: HomeRecord | undefined;
  /** What the user answered before the vault was opened. */
  #earlyAnswer: ApprovedSettings | 'deny' | undefined;
  /** Settings whose value in the file isn't the approved one. */
  #different: readonly Difference[] = [];
  /** What the home allowed before the Keyturn app's first use, until the user said what stays. */
  #allowedBefore: readonly AllowedGroup[] = [];
  #extraAuthorities: ExtraAuthorities | undefined;
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
    this.#different = differences(this.#written(), nothingApproved);
    if (this.#different.length > 0) this.#askOnce();
  }

  /** Throws why nothing is served, if the home is known not to be this vault's. */
  refuseMismatch(): void {
    if (this.#mismatch) throw this.#mismatch;
  }

  /** Before anything goes to the network or to a browser. Throws as the document's `verify`, `file_unreadable`, `consent_pending`. */
  async requireSettingsAnswered(): Promise<void> {
    await this.#parts.document.verify();
    this.#requireRecord();
    await this.#card.taking;
    if (!this.#isUndecided) return;
    this.#askOnce();
    throw unanswered(this.#asked);
  }

  /**
   * Before anything is served: as `requireSettingsAnswered`, while the user hasn't said which access from before the
   * Keyturn app's first use stays. Undefined: nothing waits.
   */
  requireFirstUseAnswered(): Promise<void> | undefined {
    return this.#isUndecided && this.#allowedBefore.length > 0 ? this.requireSettingsAnswered() : undefined;
  }

  /** Before a command grants more access. Throws as the document's `verify`, `not_permitted` while the Keyturn app is closed, and `consent_pending`. */
  async requireMayWiden(): Promise<void> {
    if (this.#parts.isKeyturnApp) return this.requireFirstUseAnswered();
    await this.#parts.document.verify();
    this.#requireRecord();
    if (this.isClosed) throw appClosed();
    // This broker may run on a copy of a home that the Keyturn app has used since.
    await this.#parts.document.requireNewest();
  }

  /** True once it is known that only the Keyturn app may approve here, and it doesn't run. */
  get isClosed(): boolean {
    return !this.#parts.isKeyturnApp && this.#record?.approver === 'app';
  }

  get hasOpenedVault(): boolean {
    const { home, vault } = this.#parts;
    return home.document !== undefined || this.#record !== undefined || vault.kind === 'memory';
  }

  get extraAuthorities(): ExtraAuthorities | undefined {
    return this.#extraAuthorities;
  }

  get state(): HomeState {
    const { vault } = this.#parts;
    const common = {
      approver: this.#approver(),
      hasOpenedVault: this.hasOpenedVault,
      differing: this.#different,
      isWaiting: this.#isWaiting,
    };
    if (this.#mismatch) return { ...common, state: 'mismatched', why: this.#mismatch.message };
    if (vault.kind === 'memory') return { ...common, state: 'memory' };
    return { ...common, state: this.#record ? 'checked' : 'unchecked' };
  }

  /**
   * The user sets it, and has approved it where that is needed. The document is written, then the caller writes the file. While
   * the Keyturn app of this home is closed, the document's settings decide what grants more access: file and variables may say anything. Throws
   * as `requireSettingsAnswered` and `requireMayWiden`, and `file_unreadable` for certificate authorities that can't be read.
   */
  async recordSetting(name: SettingName, value: Settings[SettingName]): Promise<void> {
    // No vault was ever opened: when one is, the document notes what the file says by then.
    if (!this.#parts.isKeyturnApp && !this.hasOpenedVault) return;
    await this.requireSettingsAnswered();
    const authorities =
      name === 'extraAuthorities' && typeof value === 'string'
        ? readExtraAuthorities(value)
        : this.#extraAuthorities;
    await this.#change((record) => {
      const kept = this.#usesApproved(record) ? 'approved' : 'lastUsed';
      const approved = record[kept] ?? nothingApproved;
      if (this.isClosed && differenceOf(name, value, approved, authorities)) throw appClosed();
      return { ...record, [kept]: withSetting(approved, name, value, authorities) };
    });
    this.#different = this.#different.filter((difference) => difference.name !== name);
  }

  /** Whether the command may approve while the Keyturn app is closed. Only for the app's window. */
  async allowCommand(mayCommandApprove: boolean): Promise<void> {
    await this.#parts.document.verify();
    await this.requireMayWiden();
    await this.#change((record) => ({ ...record, approver: mayCommandApprove ? 'either' : 'app' }));
    this.#parts.changed();
  }

  /**
   * A step of the document's verification. The Keyturn app's first use, once it is answered, notes that a broker without a
   * window grants nothing more here: that makes every copy of the document an older one.
   */
  async load(): Promise<void> {
    const { isKeyturnApp, records, changed } = this.#parts;
    const before = JSON.stringify(this.state);
    const record = records.items[0] ?? { approver: 'command' };
    if (isKeyturnApp) await this.#loadInApp(record);
    else if (record.approver === 'app') this.#applyApproved(record);
    else await this.#loadHeadless(record);
    if (JSON.stringify(this.state) !== before) changed();
  }

  async #loadInApp(record: HomeRecord): Promise<void> {
    if (record.approved === undefined) this.#allowedBefore = allowedIn(this.#parts.allowed);
    const known =
      this.#allowedBefore.length > 0 ? record : decided(record, this.#written(), this.#earlyAnswer);
    // Until it is answered, nothing is noted: a start after a crash asks again.
    const isDecided = known.approved !== undefined;
    const noted = isDecided && known.approver === 'command' ? { ...known, approver: 'app' as const } : known;
    // Nothing is served before it is noted: else a broker without a window could grant access here after the app.
    if (noted.approver !== record.approver) await this.#parts.records.change(() => [noted]);
    else if (isDecided) await this.#keep(record, noted);
    this.#applyApproved(noted);
    if (this.#isUndecided || !isDenied(this.#different, known.denied)) this.#askOnce();
  }

  /** The document's settings are in force. */
  #applyApproved(record: HomeRecord): void {
    const { book } = this.#parts;
    this.#record = record;
    const approved = record.approved ?? nothingApproved;
    this.#different = differences(this.#written(), approved);
    book.applyApproved(inForce(book.written, this.#different), this.#different);
    const { extraAuthorities } = book.current;
    this.#extraAuthorities = sameFile(extraAuthorities, approved);
  }

  /** In a broker without a window that may approve: what is in the file is in force, and the document remembers it. */
  async #loadHeadless(record: HomeRecord): Promise<void> {
    const { book, log } = this.#parts;
    const { extraAuthorities } = book.written;
    this.#extraAuthorities =
      extraAuthorities === undefined ? undefined : readExtraAuthorities(extraAuthorities);
    const written = { settings: book.written, authorities: this.#extraAuthorities };
    this.#different = record.lastUsed ? differences(written, record.lastUsed) : [];
    const names = this.#different.map(({ name }) => name);
    if (names.length > 0)
      log(`settings were changed since the last start, and are in force: ${names.join(', ')}`, 'warn');
    const isNews = !record.lastUsed || names.length > 0;
    const known = isNews ? { ...record, lastUsed: toApproved(written) } : record;
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
    this.#card.show(asked, (verdict) => this.#applyAnswer(verdict, asked, shown));
  }

  async #applyAnswer(
    verdict: 'approve' | 'deny',
    asked: SettingsQuestion,
    shown: WrittenSettings,
  ): Promise<void> {
    if (!this.#record) {
      this.#earlyAnswer = verdict === 'approve' ? toApproved(shown) : 'deny';
      return;
    }
    // What was not stored was not answered: the card comes back at the next start.
    try {
      if (verdict === 'deny' && asked.allowed.length > 0)
        await removeAllowed(this.#parts.allowed, this.#parts.wall());
      await this.#change((record) => {
        const given = { asked: asked.different, shown, now: this.#written() };
        const approver = record.approver === 'command' ? 'app' : record.approver;
        return { ...answered(record, verdict, given), approver };
      });
      this.#allowedBefore = [];
      this.#applyApproved(this.#requireRecord());
    } catch {
      this.#parts.log('the answer about the settings could not be stored', 'warn');
    }
  }

  async #change(change: (record: HomeRecord) => HomeRecord): Promise<void> {
    const { records } = this.#parts;
    const known = this.#requireRecord();
    await records.change(([record = known]) => [change(record)]);
    this.#record = records.items[0] ?? known;
  }

  /** Throws why the document is refused. */
  #requireRecord(): HomeRecord {
    if (this.#record) return this.#record;
    void this.#parts.records.items;
    throw new Error('the home was not checked yet');
  }

  /** True if the approved settings are in force here, instead of those in the file. */
  #usesApproved({ approver }: HomeRecord): boolean {
    return this.#parts.isKeyturnApp || approver === 'app';
  }

  get #asked(): SettingsQuestion {
    return { different: this.#different, allowed: this.#allowedBefore };
  }

  /** The user of the Keyturn app has not answered yet which settings, and which earlier access, stay. */
  get #isUndecided(): boolean {
    return this.#parts.isKeyturnApp && this.#record !== undefined && this.#record.approved === undefined;
  }

  get #isWaiting(): boolean {
    return this.#isUndecided || (this.#record === undefined && this.#card.isOpen);
  }

  #approver(): HomeState['approver'] {
    const { isKeyturnApp } = this.#parts;
    if (isKeyturnApp) return this.#record?.approver === 'either' ? 'either' : 'app';
    if (!this.#record) return 'unknown';
    return this.#record.approver === 'app' ? 'appClosed' : this.#record.approver;
  }

  #written(): WrittenSettings {
    return readWritten(this.#parts.book.written);
  }
}
