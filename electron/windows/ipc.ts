/**
 * The one message by which windows ask the main process.
 *
 * Invariant: it is answered only to the top frame of one of our windows, showing our own page. The frame is
 * judged as it is when the message arrives, never by what the message says. No window has more than a few
 * requests under way, so that none keeps the broker from serving programs.
 */
import type { IpcMain, IpcMainInvokeEvent } from 'electron';
import { KeyturnError } from '../../src/base/errors.ts';
import { answerCall } from '../bridge/bridge.ts';
import type { ChannelHandler } from '../bridge/bridge.ts';
import { callMessage } from '../bridge/messages.ts';
import { isEntryPage, isOwnUrl } from './page.ts';
import type { AppWindow, Windows } from './windows.ts';

/** Does what a window asks for. */
export type WindowHandlers = (window: AppWindow) => ChannelHandler;

/** Requests of one window. Our page has a handful at a time: its lists, and what was pressed. */
export const maxConcurrent = 32;

export function answerWindows(
  ipcMain: IpcMain,
  windows: Pick<Windows, 'windowFor'>,
  handlers: WindowHandlers,
): void {
  const underWay = new WeakMap<AppWindow, number>();
  const count = (window: AppWindow): number => underWay.get(window) ?? 0;
  ipcMain.handle(callMessage, async (event, channel: unknown, params: unknown) => {
    const window = senderOf(event, windows);
    if (!window) return answerCall(refuseSender, channel, params);
    if (count(window) >= maxConcurrent) return answerCall(refuseExcess, channel, params);
    underWay.set(window, count(window) + 1);
    try {
      return await answerCall(handlers(window), channel, params);
    } finally {
      underWay.set(window, count(window) - 1);
    }
  });
}

/** The window that sent it; undefined for anything that isn't the top frame of one, on our page. */
function senderOf(
  { sender, senderFrame }: IpcMainInvokeEvent,
  windows: Pick<Windows, 'windowFor'>,
): AppWindow | undefined {
  // Null: the frame is gone or shows another document by now.
  if (!senderFrame || senderFrame.parent !== null || senderFrame !== sender.mainFrame) return undefined;
  if (!isOwnUrl(`${senderFrame.origin}/`) || !isEntryPage(senderFrame.url)) return undefined;
  return windows.windowFor(sender);
}

const refuseSender: ChannelHandler = () =>
  Promise.reject(
    new KeyturnError('not_permitted', 'This page may not ask Keyturn anything.', {
      rule: 'only the top frame of a window of the app, on its own page, is answered',
      hint: 'Close this window and open Keyturn from its icon.',
    }),
  );

const refuseExcess: ChannelHandler = () =>
  Promise.reject(
    new KeyturnError('rate_limited', 'This window asks too much at once.', {
      rule: `at most ${maxConcurrent} requests of a window are under way`,
      hint: 'Wait a moment. If it goes on, close the window and open Keyturn from its icon.',
      retryAfter: 1,
    }),
  );
