/**
 * What the app says and asks in a dialog of the system, where there is no window of its own to say it.
 *
 * Invariant: closing a dialog agrees to nothing.
 */
import { spawn } from 'node:child_process';
import { app, dialog, type MessageBoxOptions } from 'electron';
import { KeyturnError } from '../../src/base/errors.ts';
import { refusalWords, refusedSwitches, words } from '../base/words.ts';

/** Once a start: the app needs the socket, and ends where the user keeps the service. */
export async function mayRemoveService(): Promise<boolean> {
  return isAgreed({
    type: 'question',
    message: words().held,
    detail: words().heldWhat,
    buttons: [words().removeService, words().quit],
    defaultId: 1,
  });
}

/** After a window's page crashed: whether the user wants it opened again. It may crash again. */
export async function mayOpenAgain(): Promise<boolean> {
  return isAgreed({
    type: 'warning',
    message: words().crashed,
    detail: words().crashedWhat,
    buttons: [words().openAgain, words().close],
    defaultId: 0,
  });
}

/** True for the first of two buttons. */
async function isAgreed(options: Omit<MessageBoxOptions, 'cancelId'>): Promise<boolean> {
  return (await dialog.showMessageBox({ ...options, cancelId: 1 })).response === 0;
}

/** About a tray that isn't shown. Answers the number of the button; the first one where it was closed. */
export async function askOfTray(message: string, detail: string, buttons: string[]): Promise<number> {
  const asked = { type: 'info', message, detail, buttons, defaultId: 0, cancelId: 0 } as const;
  return (await dialog.showMessageBox(asked)).response;
}

/** Before the app is ready Linux has no dialogs: there Electron writes it to stderr, and a program of the desktop shows it. */
export async function sayRefusedSwitches(switches: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const said = refusedSwitches(switches);
  dialog.showErrorBox(words().startFailed, said);
  if (process.platform !== 'linux' || !(env['DISPLAY'] || env['WAYLAND_DISPLAY'])) return;
  for (const command of messageCommands(words().startFailed, said)) {
    if (await starts(command, env)) return;
  }
}

/** In this order: a desktop has one of the first three, any other X display the last. */
function messageCommands(title: string, text: string): readonly (readonly [string, ...string[]])[] {
  return [
    ['zenity', '--error', '--no-markup', '--title', title, '--text', text],
    ['kdialog', '--title', title, '--error', text],
    ['notify-send', '--urgency=critical', title, text],
    ['xmessage', '-center', `${title}\n${text}`],
  ];
}

/** It outlives this process. An AppImage's libraries are not for programs of the system. */
async function starts(
  [program, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv,
): Promise<boolean> {
  const child = spawn(program, args, {
    env: { ...env, LD_LIBRARY_PATH: undefined },
    stdio: 'ignore',
    detached: true,
  });
  child.unref();
  return new Promise((resolve) => {
    child.once('spawn', () => resolve(true)).once('error', () => resolve(false));
  });
}

/** Resolves when the user has closed it. The box for errors would stop this process meanwhile. */
export async function sayStartFailed(error: unknown): Promise<void> {
  const detail = error instanceof KeyturnError ? refusalWords(error) : words().report;
  if (app.isReady()) await dialog.showMessageBox({ type: 'error', message: words().startFailed, detail });
  else dialog.showErrorBox(words().startFailed, detail);
}
