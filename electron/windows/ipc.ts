/**
 * The one message by which windows ask the main process.
 *
 * Invariant: it is answered only to the top frame of a window of ours, showing our own page. The frame is
 * judged as it is when the message arrives, never by what the message says. No window has more than a few
 * requests under way, so that none keeps the broker from serving programs.
 */
import type { IpcMain, IpcMainInvokeEvent } from 'electron';
import { KeyturnError } from '../../src/base/errors.ts';
import { answer } from '../bridge/bridge.ts';
import type { Deed } from '../bridge/bridge.ts';
import { callMessage } from '../bridge/messages.ts';
import { isEntryPage, isOwnUrl } from './page.ts';
import type { OurWindow, Windows } from './windows.ts';

/** Does what a window asks for. */
export type WindowDeeds = (window: OurWindow) => Deed;

/** Requests of one window. Our page has a handful at a time: its lists, and what was pressed. */
export const maxConcurrent = 32;

export function answerWindows(ipcMain: IpcMain, windows: Pick<Windows, 'of'>, deeds: WindowDeeds): void {
  const underWay = new WeakMap<OurWindow, number>();
  const count = (window: OurWindow): number => underWay.get(window) ?? 0;
  ipcMain.handle(callMessage, async (event, channel: unknown, params: unknown) => {
    const window = senderOf(event, windows);
    if (!window) return answer(foreign, channel, params);
    if (count(window) >= maxConcurrent) return answer(tooMany, channel, params);
    underWay.set(window, count(window) + 1);
    try {
      return await answer(deeds(window), channel, params);
    } finally {
      underWay.set(window, count(window) - 1);
    }
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

const foreign: Deed = () =>
  Promise.reject(
    new KeyturnError('not_permitted', 'This page may not ask Keyturn anything.', {
      rule: 'only the top frame of a window of the app, on its own page, is answered',
      hint: 'Close this window and open Keyturn from its icon.',
    }),
  );

const tooMany: Deed = () =>
  Promise.reject(
    new KeyturnError('rate_limited', 'This window asks too much at once.', {
      rule: `at most ${maxConcurrent} requests of a window are under way`,
      hint: 'Wait a moment. If it goes on, close the window and open Keyturn from its icon.',
      retryAfter: 1,
    }),
  );
