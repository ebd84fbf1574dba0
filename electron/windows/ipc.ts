/**
 * The one message by which windows ask the main process: schema in, handler, schema out.
 *
 * Invariants: it is answered only to the top frame of one of our windows, showing our own page. The frame is
 * judged as it is when the message arrives, never by what the message says. No window has more than a few
 * requests under way, so that none keeps the broker from serving apps. Only names of the channel table are
 * answered, params and answers pass their schemas, so that a field that the table doesn't know never reaches a
 * window, and a refusal travels as a value.
 */
import type { IpcMain, IpcMainInvokeEvent } from 'electron';
import { KeyturnError, quoted, detailsOf } from '../../src/base/errors.ts';
import { channels, isChannel, type ChannelName, type Envelope, type Refusal } from '../bridge/channels.ts';
import { callMessage } from '../bridge/messages.ts';
import { isEntryPage, isOwnUrl } from './page.ts';
import type { AppWindow, Windows } from './windows.ts';

/** Does what a channel is for; its params have passed the channel's schema. */
export type ChannelHandler = (channel: ChannelName, params: unknown) => Promise<unknown>;

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

export async function answerCall(
  handler: ChannelHandler,
  channel: unknown,
  params: unknown,
): Promise<Envelope<unknown>> {
  try {
    if (!isChannel(channel)) {
      const name = typeof channel === 'string' ? quoted(channel) : 'that is no text';
      throw new KeyturnError('method_not_found', `A window asked for a channel ${name}.`);
    }
    const asked = channels[channel].params.safeParse(params ?? {});
    if (!asked.success) {
      const field = quoted(asked.error.issues[0]?.path.join('.') ?? '');
      throw new KeyturnError('invalid_request', `${channel}: ${field} has a bad value.`);
    }
    const value = channels[channel].result.parse(await handler(channel, asked.data));
    return { ok: true, value };
  } catch (error) {
    return { ok: false, refusal: refusalOf(error) };
  }
}

/** A foreign error shows nothing of itself: its text may hold anything. */
function refusalOf(error: unknown): Refusal {
  if (!(error instanceof KeyturnError)) {
    return { reason: 'internal', message: 'Something went wrong inside Keyturn. Please report it.' };
  }
  return { reason: error.reason, message: error.message, ...detailsOf(error) };
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
