/**
 * The settings while a broker runs: which values count, where they come from, and changes.
 *
 * Invariant: a value is checked by its schema before it is written, and the file is replaced whole. A change takes
 * effect at once only if the table of `appliesImmediately` settings says so. It never replaces a value of this run's
 * environment in a broker that the user started.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import type { Difference } from './approved-settings.ts';
import { didYouMean } from '../../base/text/near-name.ts';
import {
  defaultSettings,
  fromEnvironment,
  appliesImmediately,
  settingsFile,
  readSettings,
  settingsSchema,
  trustRequired,
  valueHelp,
  writeSettings,
} from './settings.ts';
import { isSettingName, settingNames, type SettingName } from './setting-choices.ts';
import type { Settings, SettingsSource } from './settings.ts';

type Detail = ResultOf<'settings.get'>['details'][number];
type Value = Settings[SettingName];

/** A change that its schema takes; undefined unsets. */
export interface CheckedSetting {
  readonly name: SettingName;
  readonly value: Value;
}

export class SettingsBook {
  readonly #source: SettingsSource;
  /** The settings of this run. Those of `appliesImmediately` can change; all of them when the document says which count. */
  readonly current: Settings;
  /** The values in file and environment, even if they don't count. */
  readonly written: Settings;
  #different: readonly Difference[] = [];
  #known: (() => void) | undefined;

  /** Reads the settings; a new home's are recorded. Throws as `readSettings`. */
  constructor(source: SettingsSource) {
    this.#source = source;
    this.written = readSettings(source);
    this.current = { ...this.written };
  }

  /** The document has said which settings count. `different`: the written values that don't. */
  applyApproved(settings: Settings, different: readonly Difference[]): void {
    Object.assign(this.current, settings);
    this.#different = different;
    this.#known?.();
  }

  /** `listener` is called each time that the document has changed which settings count. */
  onApproved(listener: () => void): void {
    this.#known = listener;
  }

  /** Those whose value isn't the default. */
  recorded(): Record<string, NonNullable<Value>> {
    const rows = this.details().filter(({ source, value }) => source !== 'default' && value !== undefined);
    return Object.fromEntries(rows.flatMap(({ name, value }) => (isValue(value) ? [[name, value]] : [])));
  }

  details(): Detail[] {
    const { values: file } = settingsFile(this.#source.paths);
    const env = this.#environment();
    return settingNames.map((name) => {
      const known = { name, appliesImmediately: appliesImmediately.has(name) };
      const fallback = defaultSettings[name];
      const different = this.#different.find((difference) => difference.name === name);
      if (different) return { ...known, ...heldDetail(different, fallback) };
      const written = settingsSchema.shape[name].safeParse(file[name]).data;
      const isSet = written !== fallback;
      return {
        ...known,
        value: withoutPassword(name in env ? this.current[name] : written),
        default: fallback,
        source: name in env ? 'environment' : isSet ? 'file' : 'default',
      };
    });
  }

  /** What `name` would be with `value`; `null` unsets. Throws `invalid_request` or `not_found`. */
  check(name: string, value: unknown): CheckedSetting {
    if (!isSettingName(name)) {
      throw new KeyturnError('not_found', `There is no setting ${quoted(name)}.`, {
        hint: `${didYouMean(name, settingNames)}\`keyturn settings\` lists them.`,
      });
    }
    const field = settingsSchema.shape[name];
    if (value === null) return { name, value: undefined };
    for (const candidate of [value, ...spelled(value)]) {
      const parsed = field.safeParse(candidate);
      if (parsed.success) return { name, value: parsed.data };
    }
    // The value isn't repeated: a proxy's URL may hold a password.
    throw new KeyturnError('invalid_request', `${name} takes ${valueHelp[name]}.`, {
      hint: '`keyturn settings` shows what each setting is now.',
    });
  }

  /** Writes what `check` answered; tells when it is in force. Throws `file_unreadable`. */
  set(name: SettingName, value: Value): 'now' | 'nextStart' {
    const { file, values } = settingsFile(this.#source.paths);
    // JSON leaves out what is undefined.
    writeSettings(file, { ...values, [name]: value });
    const counted = value ?? defaultSettings[name];
    if (!(name in this.#environment())) Object.assign(this.written, { [name]: counted });
    this.#different = this.#different.filter((difference) => difference.name !== name);
    // The vault that is in use already needs no restart, which would lock it for nothing.
    if (trustRequired(name) === 'home' && counted === this.current[name]) return 'now';
    if (!appliesImmediately.has(name) || name in this.#environment()) return 'nextStart';
    Object.assign(this.current, { [name]: counted });
    return 'now';
  }

  /** An auto-started broker ignores the environment. A new home has already copied it into its file. */
  #environment(): Record<string, unknown> {
    const { env, autoStarted, isNewHome } = this.#source;
    return autoStarted || isNewHome ? {} : fromEnvironment(env);
  }
}

/** The document's value is in force; the written one is shown beside it. */
function heldDetail(
  { value, inEffect, isContent }: Difference,
  fallback: Value,
): Omit<Detail, 'name' | 'appliesImmediately'> {
  const counts = isContent ? undefined : inEffect;
  return {
    value: withoutPassword(counts),
    default: fallback,
    source: counts === fallback ? 'default' : 'vault',
    written: withoutPassword(value),
    isUnapproved: true,
  };
}

function isValue(value: unknown): value is NonNullable<Value> {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/** The value that a text on a command line means. */
function spelled(value: unknown): unknown[] {
  if (value === 'true' || value === 'false') return [value === 'true'];
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? [Number(value)] : [];
}

/** A proxy's URL may hold one; lists are copied into reports. */
export function withoutPassword<T>(value: T): T | string {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (!url || url.password === '') return value;
  url.password = '***';
  return url.href;
}
