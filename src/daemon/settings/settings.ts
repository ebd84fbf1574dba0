/**
 * The home's settings, and what of the environment counts.
 *
 * Invariant: an auto-started broker takes browser, authorities, proxy, vault and insecure loopback
 * from the environment only when it creates the home; afterwards they are in settings.json and only
 * a settings change alters them. A broker that the user starts takes its environment as it is, except at a
 * Keyturn app and in its home: there the table `trustRequired` says what a written value counts for.
 */
import { readFileSync, statSync } from 'node:fs';
import path, { basename, isAbsolute } from 'node:path';
import { z } from 'zod';
import { formats, refuseOtherFormat } from '../../store/record-formats.ts';
import { KeyturnError } from '../../base/errors.ts';
import { requireClientMetadataUrl } from '../../oauth/client/client-metadata.ts';
import type { Environment, HomePaths } from '../../base/paths.ts';
import { replaceFileAtOnce } from '../../base/private/private-file.ts';
import { systemCode } from '../../base/system-error.ts';
import { firstSet, noProxyNames, proxyNames, proxyOf } from '../../base/system/proxy-variables.ts';
import { maxLength } from '../../ipc/wire/limits.ts';
import { isSettingName, settingChoices, type SettingName } from './setting-choices.ts';

/** As long as lists and cards show one: with a longer value none of them could be read, nor what else they hold. */
const boundedText = z.string().max(maxLength.setting);

const proxyUrl = z
  .url({ protocol: /^https?$/ })
  // It is shown without its password, as the parser writes it, which may be longer.
  .refine((url) => (URL.parse(url)?.href.length ?? 0) <= maxLength.setting);

/** A URL that no authorization server could take would fail at the first sign-in, far from its cause. */
function isClientMetadataUrl(url: string): boolean {
  try {
    return requireClientMetadataUrl(url) === url;
  } catch {
    return false;
  }
}

/** Seconds: a month. More is never meant. */
const maxIdle = 30 * 24 * 60 * 60;

/** Absolute, as this system writes it, and no root. */
const isFilePath = (text: string): boolean => isAbsolute(text) && basename(text) !== '';

export const settingsSchema = z.object({
  vault: z.enum(settingChoices.vault).default('keychain'),
  /** Where the key of a `sealed-file` vault comes from. */
  vaultKey: z
    .union([
      z.enum(settingChoices.vaultKey),
      z.templateLiteral(['file:', z.string()]).refine((file) => isFilePath(file.slice('file:'.length))),
      z
        .templateLiteral(['credential:', z.string()])
        .refine((name) => /^credential:[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)),
      z.templateLiteral(['command:', z.string()]).refine((command) => /^command:.*\S/.test(command)),
    ])
    .refine(({ length }) => length <= maxLength.setting)
    .default('passphrase'),
  /** Seconds without a request, but for the owner's polls, after which the vault is locked; absent: never. */
  lockAfter: z.int().min(1).max(maxIdle).optional(),
  /** Whether the desktop app locks the vault when the screen is locked. */
  lockWithScreen: z.boolean().default(false),
  /** Command that gets the address to open as its last argument. */
  browser: boundedText.min(1).optional(),
  extraAuthorities: boundedText.min(1).optional(),
  httpsProxy: proxyUrl.optional(),
  noProxy: boundedText.optional(),
  clientMetadataUrl: boundedText.refine(isClientMetadataUrl).optional(),
  /** The protocol version in requests to servers of the earlier revision (MCP 2025-06-18, Protocol Version Header). */
  protocolVersionHeader: boundedText.regex(/^[A-Za-z][A-Za-z0-9-]*$/).default('CTX-Protocol-Version'),
  protocolVersion: boundedText.regex(/^[\x21-\x7e]+$/).default('2025-03-26'),
  /**
   * The choice that a card proposes first. `run` asks once for each start of the app, ends automatically and is
   * never on disk. `once` and `hour` would ask so often that a user no longer reads the cards.
   */
  defaultDuration: z.enum(settingChoices.defaultDuration).default('run'),
  /** http is accepted for loopback hosts. For development only. */
  insecureLoopback: z.boolean().default(false),
  /** The least important lines of the log that are written. */
  logLevel: z.enum(settingChoices.logLevel).default('info'),
} satisfies Record<SettingName, z.ZodType>);

export type Settings = z.infer<typeof settingsSchema>;

export const defaultSettings: Readonly<Settings> = settingsSchema.parse({});

/** Settings whose change takes effect at once; the others when the broker starts again. */
export const appliesImmediately: ReadonlySet<SettingName> = new Set([
  'lockWithScreen',
  'browser',
  'defaultDuration',
  'logLevel',
]);

/**
 * What a value counts for that was written into the file or the environment, while the Keyturn app runs and in an app's
 * home.
 *
 * `approved`: nothing, until the document has it (home-check.ts), because it may decide where a secret goes, what
 * runs, how long the vault is open, or what a user is offered. `home`: it says which vault is asked, so that no
 * document can approve it; a change makes a mismatched home (mismatched-home.ts). `free`: it is used, because it grants
 * nothing.
 */
export function trustRequired(name: SettingName): 'approved' | 'home' | 'free' {
  if (name === 'vault' || name === 'vaultKey') return 'home';
  // No level of the log writes a secret.
  return name === 'logLevel' ? 'free' : 'approved';
}

/** What unwraps the key of a sealed file: a passphrase, wherever it comes from, or an item of the keychain. */
export function wrappedBy(vaultKey: Settings['vaultKey']): 'passphrase' | 'keychain' {
  return vaultKey === 'keychain' ? 'keychain' : 'passphrase';
}

/** The values that each setting accepts, for error messages. */
export const valueHelp: Readonly<Record<SettingName, string>> = {
  vault: 'keychain, sealed-file or memory',
  vaultKey: 'passphrase, keychain, file:PATH (absolute), credential:NAME or command:COMMAND',
  lockAfter: `a whole number of seconds from 1 to ${maxIdle} (30 days)`,
  browser: 'a command that opens an address',
  extraAuthorities: 'the path of a PEM file',
  httpsProxy: 'the URL of an http or https proxy',
  noProxy: 'hosts, separated by commas',
  clientMetadataUrl: 'an https URL with a path, without name, password or fragment',
  protocolVersionHeader: 'the name of a header: letters, digits and dashes, beginning with a letter',
  protocolVersion: 'visible ASCII characters without a space',
  defaultDuration: 'once, run, hour or untilRevoked',
  lockWithScreen: 'true or false',
  insecureLoopback: 'true or false (1 as a variable)',
  logLevel: 'error, warn, info or debug',
};

/** The variable behind each setting, for messages, the auto-start and the reference page. */
export const variables: Readonly<Partial<Record<SettingName, readonly string[]>>> = {
  vault: ['KEYTURN_VAULT'],
  vaultKey: ['KEYTURN_VAULT_KEY'],
  browser: ['KEYTURN_BROWSER', 'BROWSER'],
  extraAuthorities: ['NODE_EXTRA_CA_CERTS'],
  httpsProxy: proxyNames,
  noProxy: noProxyNames,
  clientMetadataUrl: ['KEYTURN_CLIENT_METADATA_URL'],
  insecureLoopback: ['KEYTURN_ALLOW_INSECURE_LOOPBACK'],
};

export interface SettingsSource {
  readonly paths: HomePaths;
  readonly env: Environment;
  readonly isNewHome: boolean;
  readonly autoStarted: boolean;
}

/**
 * What this broker runs with; a new home may have a file already. Throws `invalid_request` for a bad variable,
 * `file_unreadable` for a bad file.
 */
export function readSettings({ paths, env, isNewHome, autoStarted }: SettingsSource): Settings {
  const { file, values } = settingsFile(paths);
  refuseOtherFormat(file, values, formats.settings);
  const recorded = checked(values, file);
  if (autoStarted && !isNewHome) return recorded;
  const settings = checked({ ...recorded, ...fromEnvironment(env) }, 'environment');
  if (isNewHome) writeSettings(file, { ...values, version: formats.settings, ...settings });
  return settings;
}

const Values = z.record(z.string(), z.unknown());

/** The file's values, not checked yet; none where there is no file. Throws `file_unreadable`. */
export function settingsFile({ config }: HomePaths): {
  readonly file: string;
  readonly values: Readonly<Record<string, unknown>>;
} {
  const file = path.join(config, 'settings.json');
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (!found) return { file, values: {} };
    // To read a named pipe would wait for its writer.
    if (!found.isFile()) throw unusable(`${file} is not a plain file.`);
    // Windows' editor begins a file with a byte order mark.
    const values = Values.safeParse(JSON.parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, '')));
    if (!values.success) throw unusable(`${file} is not an object of JSON.`);
    return { file, values: values.data };
  } catch (error) {
    if (error instanceof KeyturnError) throw error;
    const why = error instanceof SyntaxError ? 'is not JSON' : `can't be read (${systemCode(error)})`;
    throw unusable(`${file} ${why}.`);
  }
}

function unusable(problem: string): KeyturnError {
  return new KeyturnError('file_unreadable', problem, {
    hint: 'Keyturn left it as it is. Fix it, or move it away to start with the defaults.',
  });
}

/** 0600, replaced whole. Throws `file_unreadable`. */
export function writeSettings(file: string, settings: Readonly<Record<string, unknown>>): void {
  replaceFileAtOnce(file, `${JSON.stringify(settings, undefined, 2)}\n`);
}

/** The settings in the environment, not checked yet. */
export function fromEnvironment(env: Environment): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [setting, names] of Object.entries(variables)) {
    const value = firstSet(env, names);
    if (value !== undefined) found[setting] = setting === 'insecureLoopback' ? value === '1' : value;
  }
  // `HOST:PORT` gets its scheme here.
  const httpsProxy = proxyOf(env);
  return httpsProxy === undefined ? found : { ...found, httpsProxy };
}

function checked(values: unknown, where: string): Settings {
  const parsed = settingsSchema.safeParse(values);
  if (parsed.success) return parsed.data;
  const name = String(parsed.error.issues[0]?.path[0] ?? '');
  const variable = where === 'environment' && isSettingName(name) && variables[name]?.join(' or ');
  throw new KeyturnError(
    variable ? 'invalid_request' : 'file_unreadable',
    `${variable || `${where}: ${name}`} has a bad value${isSettingName(name) ? `: it takes ${valueHelp[name]}` : ''}.`,
    { hint: '`keyturn settings` shows what each setting is now.' },
  );
}
