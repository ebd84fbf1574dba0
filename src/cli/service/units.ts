/**
 * The units of systemd that run the broker for one user, of this program and this home: their text and their files.
 *
 * Invariant: systemd reads one of our paths or words as it is, with no specifier, variable or quote of its own in it.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { appCommandFile, homePaths } from '../../base/paths.ts';
import { isSingle } from '../../base/system/single.ts';
import { socketPlaces } from '../../ipc/wire/socket-path.ts';
import { homeLine, isOurs, literal, mark, unitFile, type UnitName, word } from '../../service/user-units.ts';
import { absoluteCommand } from '../apps/configured-entry.ts';
import { nodeFlags } from '../broker/auto-start.ts';

export interface Service {
  /** What runs: an absolute path and its arguments, as they are. */
  readonly command: readonly [string, ...string[]];
  /** KEYTURN_HOME, where the home isn't the user's own. */
  readonly home?: string | undefined;
}

export function serviceUnit({ command: [program, ...words], home }: Service): string {
  return `[Unit]
Description=Keyturn, the token broker of this user

[Service]
Type=exec
ExecStart=${[word(program), ...words.map(argument)].join(' ')}
${homeLine(home)}Restart=on-failure
RestartSec=5
# Another broker runs, or the home must be fixed: a restart changes nothing.
RestartPreventExitStatus=2 7 8
# A refresh under way may take 30 seconds to end.
TimeoutStopSec=40
UMask=0077
LimitCORE=0
UnsetEnvironment=NODE_OPTIONS NODE_PATH NODE_TLS_REJECT_UNAUTHORIZED SSLKEYLOGFILE LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES

# The broker has a browser started by systemd-run, outside of these limits.
# No MemoryDenyWriteExecute: V8 compiles. No mount namespace: some systems forbid it to users.
NoNewPrivileges=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service

[Install]
WantedBy=default.target
`;
}

export interface Listening {
  /** Where apps look for the socket. */
  readonly path: string;
  /** The file that shows that the home is an app's. */
  readonly appFile: string;
}

export function socketUnit({ path: socket, appFile }: Listening): string {
  return `[Unit]
Description=Socket of Keyturn, the token broker of this user
# The desktop app makes the socket itself, and could not while systemd holds it.
ConditionPathExists=!${literal(appFile)}

[Socket]
ListenStream=${literal(socket)}
SocketMode=0600
DirectoryMode=0700

[Install]
WantedBy=sockets.target
`;
}

/** Behind the program, but not in its path, systemd puts variables in place of `$NAME` (systemd.service(5)). */
const argument = (text: string): string => word(text.replaceAll('$', '$$$$'));

/** Returns the topmost folder that had to be made, if any. Throws `conflict` for a unit of somebody else's. */
export function writeUnits(withSocket: boolean): string | undefined {
  const paths = homePaths();
  const home = process.env['KEYTURN_HOME'] || undefined;
  const [program, ...script] = absoluteCommand().words;
  const command: [string, ...string[]] = isSingle
    ? [program, 'broker', 'run']
    : [program, ...nodeFlags, ...script, 'broker', 'run'];
  const made = write('keyturn.service', serviceUnit({ command, home }));
  if (withSocket)
    write('keyturn.socket', socketUnit({ path: socketPlaces(paths)[0], appFile: appCommandFile(paths) }));
  return made;
}

function write(name: UnitName, text: string): string | undefined {
  const file = unitFile(name);
  if (existsSync(file) && !isOurs(file))
    throw new KeyturnError(
      'conflict',
      `There is a unit ${quoted(file)} already, which Keyturn did not write.`,
      { hint: 'Move it away, or use it as it is.' },
    );
  const made = mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${mark}${text}`);
  return made;
}

/** The folders that were made for a unit, from the topmost on, unless something else is there by now. */
export function removeEmpty(topmost: string): void {
  let folder = path.dirname(unitFile('keyturn.service'));
  try {
    for (; folder !== path.dirname(topmost); folder = path.dirname(folder)) rmdirSync(folder);
  } catch {
    // Somebody uses it.
  }
}
