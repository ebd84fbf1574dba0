/**
 * The one message by which windows ask the main process.
 *
 * Invariant: it is answered only to the top frame of a window of ours, showing our own page. The frame is
 * judged as it is when the message arrives, never by what the message says.
 */
import type { IpcMain, IpcMainInvokeEvent } from 'electron';
import { KeyturnError } from '../src/errors.ts';
import { answer } from './bridge.ts';
import type { Deed } from './bridge.ts';
import { callMessage } from './messages.ts';
import { isEntryPage, isOwnUrl } from './page.ts';
import type { OurWindow, Windows } from './windows.ts';

/** Does what a window asks for. */
export type WindowDeeds = (window: OurWindow) => Deed;

export function answerWindows(ipcMain: IpcMain, windows: Pick<Windows, 'of'>, deeds: WindowDeeds): void {
  ipcMain.handle(callMessage, (event, channel: unknown, params: unknown) => {
    const window = senderOf(event, windows);
    return answer(window ? deeds(window) : refuse, channel, params);
  });
}

/** The window that sent it; undefined for anything that isn't the top frame of one, on our page. */
function senderOf(
  { sender, senderFrame }: IpcMainInvokeEvent,
  windows: Pick<Windows, 'of'>,
): OurWindow | undefined {
  // Null: the frame is gone or shows another document by now.
  if (!senderFrame || senderFrame.parent !== null || senderFrame !== sender.mainFrame) return undefined;
  if (!isOwnUrl(`${senderFrame.origin}/`) || !isEntryPage(senderFrame.url)) return undefined;
  return windows.of(sender);
}

const refuse: Deed = () =>
  Promise.reject(
    new KeyturnError('not_permitted', 'This page may not ask Keyturn anything.', {
      rule: 'only the top frame of a window of the app, on its own page, is answered',
      hint: 'Close this window and open Keyturn from its icon.',
    }),
  );
