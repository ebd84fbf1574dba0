/** How much one window may ask at a time, however hostile its page. Its event stands for Electron's. */
import type { IpcMain, IpcMainInvokeEvent } from 'electron';
import { expect, it } from 'vitest';
import type { Envelope } from '../../electron/bridge/channels.ts';
import { answerWindows, maxConcurrent } from '../../electron/windows/ipc.ts';
import { entryPage, pageOrigin } from '../../electron/windows/page.ts';
import type { AppWindow } from '../../electron/windows/windows.ts';

/** Asks as a window's page does, `handle` doing what it asks for. */
function windowAsking(handle: () => Promise<unknown>): () => Promise<Envelope<unknown>> {
  type Handler = Parameters<IpcMain['handle']>[1];
  const handlers: Handler[] = [];
  const ipcMain = { handle: (_name: string, handler: Handler) => handlers.push(handler) };
  const window = {} as AppWindow;
  answerWindows(ipcMain as unknown as IpcMain, { windowFor: () => window }, () => handle);
  const senderFrame = { parent: null, origin: pageOrigin, url: entryPage };
  const event = { sender: { mainFrame: senderFrame }, senderFrame } as unknown as IpcMainInvokeEvent;
  return async () => (await handlers[0]?.(event, 'card.shown', { ids: ['a1b2c3d4'] })) as Envelope<unknown>;
}

it('has a bounded number of requests under way', async () => {
  const held = Promise.withResolvers<unknown>();
  const asks = windowAsking(() => held.promise);
  const underWay = Array.from({ length: maxConcurrent }, asks);
  expect(await asks()).toMatchObject({ ok: false, refusal: { reason: 'rate_limited', retryAfter: 1 } });
  held.resolve({});
  for (const envelope of await Promise.all(underWay)) expect(envelope).toMatchObject({ ok: true });
  expect(await asks()).toMatchObject({ ok: true });
});
