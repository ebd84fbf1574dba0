/**
 * The machine around the broker: keychain, browser, proxy, certificates, clock. Needs no broker and no network.
 *
 * Invariant: nothing is started, asked of the user, or sent. A proxy's address is never shown: it may hold a
 * password.
 */
import { X509Certificate } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { getCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { moment, shellWord } from '../../base/errors.ts';
import { type HomePaths, ownerKeyFile } from '../../base/paths.ts';
import { proxyName } from '../../base/system/proxy-variables.ts';
import { ignoreOpensslVariables } from '../../base/system/https-agent.ts';
import { isSingle } from '../../base/system/single.ts';
import { fromEnvironment, type Settings } from '../../daemon/settings/settings.ts';
import { readExtraAuthorities } from '../../daemon/system/authorities.ts';
import { browserProgram } from '../../daemon/system/browser.ts';
import { type KeychainLook, lookAtKeychain } from '../../daemon/system/keychain-look.ts';
import { hasBrowser } from '../../base/system/display.ts';
import { isProgram } from '../../setup/own-command.ts';
import { type Finding, type FindingKind, findingOf, found, foundIf } from './finding.ts';

export interface Machine {
  readonly paths: HomePaths;
  readonly env: NodeJS.ProcessEnv;
  readonly settings: Settings;
  /** KEYTURN_SOCKET names a forward: the broker uses the keychain and the browser of another machine or session. */
  readonly isFarEnd: boolean;
  /** Of the running broker, whose session may be another one. */
  readonly isVaultOpen: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export interface MachineLook {
  readonly findings: readonly Finding[];
  /** Undefined where no keychain is needed. */
  readonly keychain: KeychainLook | undefined;
}

export async function checkMachine(machine: Machine): Promise<MachineLook> {
  const { settings, env, isFarEnd, isVaultOpen } = machine;
  const isKeychain =
    settings.vault === 'keychain' || (settings.vault === 'sealed-file' && settings.vaultKey === 'keychain');
  const needsKeychain = isKeychain && !isFarEnd;
  const keychain = needsKeychain ? await lookAtKeychain(env) : undefined;
  return {
    keychain,
    findings: [
      ...(keychain === undefined || (keychain === 'noBus' && isVaultOpen) ? [] : keychainFindings(keychain)),
      ...(needsKeychain ? moduleFindings() : []),
      ...(isFarEnd ? [] : browserFindings(machine)),
      ...proxyFindings(machine),
      ...authoritiesFindings(machine),
      ...clockFindings(machine),
    ],
  };
}

const orFiles = 'or, in a home that holds nothing yet: keyturn settings set vault sealed-file';
const withoutKeychain = `Install or start a keyring (gnome-keyring, KWallet); ${orFiles}`;

/** `open` and `elsewhere` have nothing to tell. */
const keychainKinds: Readonly<
  Partial<Record<KeychainLook, readonly [FindingKind, what: string, fix: string]>>
> = {
  noBus: [
    'keychain.absent',
    'This session names no D-Bus, so there is no keychain: secrets have nowhere to go.',
    `Log in to a desktop, or start a session bus (dbus-run-session). ${withoutKeychain}`,
  ],
  deadBus: [
    'keychain.absent',
    'The D-Bus session that this terminal names does not answer, so there is no keychain.',
    `Log in again, or unset DBUS_SESSION_BUS_ADDRESS where it is out of date. ${withoutKeychain}`,
  ],
  noService: [
    'keychain.absent',
    'No keychain (Secret Service) runs in this session, and none could be started.',
    withoutKeychain,
  ],
  silent: [
    'keychain.absent',
    'The keychain (Secret Service) runs and does not answer.',
    'Answer its question if a window shows one. Else restart it: log out and in again.',
  ],
  noDefault: [
    'keychain.absent',
    'The keychain has no default collection to keep secrets in.',
    `Make one (seahorse: "Password keyring", then "Set as default"), or log in once with your password; ${orFiles}`,
  ],
  volatile: [
    'keychain.volatile',
    'The default collection of the keychain is "session": it forgets every sign-in at the next logout.',
    'Make a lasting one the default (seahorse: "Set as default"); gdbus call --session --dest org.freedesktop.secrets --object-path /org/freedesktop/secrets --method org.freedesktop.Secret.Service.SetAlias default /org/freedesktop/secrets/collection/login',
  ],
  locked: ['keychain.locked', 'The keychain is locked.', 'keyturn unlock'],
  asleep: ['keychain.asleep', 'The keychain does not run yet. Its first use starts it.', 'Nothing to do.'],
};

function keychainFindings(look: KeychainLook): Finding[] {
  const [kind, what, fix] = keychainKinds[look] ?? [];
  return kind && what && fix ? found(kind, what, fix) : [];
}

/** Looked for, not loaded: loading it would reach for the keychain's library. */
function moduleFindings(): Finding[] {
  if (isSingle) return [];
  try {
    const manifest = createRequire(import.meta.url).resolve('keytar/package.json');
    if (existsSync(path.join(path.dirname(manifest), 'build', 'Release', 'keytar.node'))) return [];
  } catch {
    // Told below: it isn't installed, or not built.
  }
  return found(
    'keychain.module',
    'The module keytar, which speaks to the keychain, is not installed or not built.',
    'Install a C++ compiler and the libsecret headers, then: npm rebuild keytar',
  );
}

function browserFindings({ settings, env }: Machine): Finding[] {
  if (settings.browser === undefined && !hasBrowser(env))
    return found(
      'desktop.absent',
      'This terminal has no desktop session in which a browser could open.',
      'keyturn login URL --device   (or --paste)',
    );
  const program = browserProgram(settings.browser, process.platform, env);
  const isThere = program !== undefined && isExecutable(program, env);
  return foundIf(
    !isThere,
    'browser.missing',
    `The command that opens the sign-in page${program === undefined ? '' : ` (${program})`} is not there.`,
    'keyturn settings set browser COMMAND   (without a browser: keyturn login URL --device, or --paste)',
  );
}

function isExecutable(program: string, env: NodeJS.ProcessEnv): boolean {
  const places = program.includes(path.sep)
    ? [program]
    : (env['PATH'] ?? '').split(path.delimiter).map((folder) => path.join(folder, program));
  return places.some(isProgram);
}

/** What this terminal says of proxies counts only when the home is made (auto-start.ts). */
function proxyFindings({ settings, env, paths }: Machine): Finding[] {
  const { httpsProxy } = fromEnvironment(env);
  const name = proxyName(env);
  if (!isMade(paths) || name === undefined || httpsProxy === settings.httpsProxy) return [];
  const scheme = env[name]?.includes('://') ? '' : 'http://';
  return found(
    'proxy.ignored',
    `${name} of this terminal is not the proxy that the broker uses (${settings.httpsProxy === undefined ? 'it uses none' : 'it uses another one'}).`,
    // A name of ours, which the shell replaces by its value.
    ['keyturn settings set httpsProxy', `"${scheme}$${name}"`].join(' '),
  );
}

function authoritiesFindings({ settings, env, paths, now }: Machine): Finding[] {
  const named = fromEnvironment(env)['extraAuthorities'];
  const ignored =
    isMade(paths) &&
    typeof named === 'string' &&
    named !== settings.extraAuthorities &&
    !isTrusted(named, settings.extraAuthorities);
  return [
    ...(settings.extraAuthorities === undefined ? [] : certificateFindings(settings.extraAuthorities, now)),
    ...foundIf(
      ignored,
      'authorities.ignored',
      'NODE_EXTRA_CA_CERTS of this terminal is not the file whose authorities the broker trusts.',
      settings.extraAuthorities === undefined
        ? 'keyturn settings set extraAuthorities "$NODE_EXTRA_CA_CERTS"'
        : 'To trust both, put the certificates of both into one file, then: keyturn settings set extraAuthorities FILE',
    ),
  ];
}

/** The broker trusts each certificate of this file anyway, as it does those of the system's own bundle. */
function isTrusted(file: string, trustedFile: string | undefined): boolean {
  try {
    const files = [file, ...(trustedFile === undefined ? [] : [trustedFile])];
    const [named = [], extra = []] = files.map((one) => certificatesIn(readExtraAuthorities(one).pem));
    // This terminal may set them, and the broker ignores them.
    ignoreOpensslVariables();
    const authorities = [...getCACertificates('bundled'), ...getCACertificates('system'), ...extra];
    const trusted = new Set(authorities.map(withoutSpace));
    return named.length > 0 && named.every((one) => trusted.has(withoutSpace(one)));
  } catch {
    return false;
  }
}

const withoutSpace = (pem: string): string => pem.replaceAll(/\s/g, '');

const certificatesIn = (pem: string): readonly string[] =>
  pem.match(/^-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----\s*$/gm) ?? [];

function certificateFindings(file: string, now: number): Finding[] {
  let pem: string;
  try {
    ({ pem } = readExtraAuthorities(file));
  } catch (error) {
    return [findingOf('authorities.invalid', error)];
  }
  const read = certificatesIn(pem).map(certificate);
  const fix = `put the right file there, then: keyturn settings set extraAuthorities ${shellWord(file)}`;
  if (read.length === 0 || read.includes(undefined)) {
    const what = read.length === 0 ? 'holds no certificate in PEM' : 'holds a certificate that is damaged';
    return [{ kind: 'authorities.invalid', what: `${file} ${what}.`, fix: `Look at it, ${fix}` }];
  }
  const isOutOfDate = (one: X509Certificate | undefined): boolean =>
    one !== undefined && (Date.parse(one.validTo) < now || Date.parse(one.validFrom) > now);
  const places = read.flatMap((one, index) => (isOutOfDate(one) ? [index + 1] : []));
  if (places.length === 0) return [];
  const [noun, verb] = places.length === 1 ? ['certificate', 'is'] : ['certificates', 'are'];
  const which = `${noun} ${places.join(', ')} of ${read.length} ${verb} not valid today`;
  return found(
    // Bundles have some that are out of date, and that no server uses.
    places.length === read.length ? 'authorities.expired' : 'authorities.partlyExpired',
    `${file} (setting extraAuthorities): ${which}.`,
    `If a server is refused, ${fix}`,
  );
}

function certificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** Milliseconds: file systems and time zones of archives are off by that much. */
const clockTolerance = 24 * 60 * 60 * 1000;

/** Without the network: this program, and what the home holds, can't come from the future. */
function clockFindings({ paths, now }: Machine): Finding[] {
  const files = [
    isSingle ? process.execPath : fileURLToPath(import.meta.url),
    ownerKeyFile(paths),
    path.join(paths.state, 'document.json'),
  ];
  const newest = Math.max(0, ...files.map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0));
  if (newest <= now + clockTolerance) return [];
  return found(
    'clock.behind',
    `The clock says ${moment(now)}, and files of Keyturn are newer: ${moment(newest)}.`,
    'timedatectl set-ntp true',
  );
}

function isMade(paths: HomePaths): boolean {
  return existsSync(ownerKeyFile(paths));
}
