/**
 * Writes assets/installer.nsh, which electron-builder takes into the installer and the uninstaller for Windows.
 *
 * Invariant: both end the broker by the command that the app brings along, before they end what is left.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { endBrought } from '../../electron/system/own-command.ts';
import { root } from './program.ts';

/** Milliseconds: a refresh under way may take as long. */
const patience = 30_000;

export const installerFile = path.join(root, 'assets', 'installer.nsh');

/** The macro takes the place of electron-builder's own, which ends the programs of its folder at once. */
export function installerScript(): string {
  const [file, ...words] = endBrought;
  return `; Written by scripts/packaging/installer.ts.
!include "getProcessInfo.nsh"
Var pid

!macro customCheckAppRunning
  ; A refresh under way is finished. An app without the command, or a broker that doesn't end, is ended below.
  nsExec::Exec /TIMEOUT=${patience} \`"$INSTDIR\\${file}" ${words.join(' ')}\`
  Pop $0
  !insertmacro IS_POWERSHELL_AVAILABLE
  !insertmacro _CHECK_APP_RUNNING
!macroend
`;
}

if (process.argv[1] === import.meta.filename) writeFileSync(installerFile, installerScript());
