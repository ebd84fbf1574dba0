/**
 * The desktop app for a test: over the double of Electron, or the real program where
 * KEYTURN_TEST_ELECTRON names its binary (npm run test:electron).
 *
 * Invariant: a test that uses only this file's `App` runs on both.
 */
import path from 'node:path';
import { _electron, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { ChannelName, Envelope, ParamsOn, ResultOn } from '../../electron/channels.ts';
import { startDesktop } from '../../electron/desktop.ts';
import { app, double } from '../support/electron-double.ts';
import type { TestHome } from '../support/home.ts';

const root = path.join(import.meta.dirname, '..', '..');

/** The real Electron, if the run has one. */
export const binary = process.env['KEYTURN_TEST_ELECTRON'];

export interface App {
  /** The page of the main window. */
  readonly page: Page;
  /** Resolves when the app is gone. */
  quit(): Promise<void>;
}

export async function openApp(home: TestHome): Promise<App> {
  return binary === undefined ? openDouble(home) : openBinary(binary, home);
}

async function openDouble(home: TestHome): Promise<App> {
  await startInDouble(home);
  const page = await double.windows[0]?.webContents.page;
  if (!page) throw new Error(`the app opened no window: ${double.errors.join(' ')}`);
  return {
    page,
    quit: async () => {
      app.quit();
      await double.ended.promise;
    },
  };
}

/** Starts the main process over the double. Ends with the test. */
export async function startInDouble(
  home: TestHome,
  args: readonly string[] = [],
  set: Partial<typeof double> = {},
): Promise<void> {
  double.reset();
  Object.assign(double, set);
  onTestFinished(async () => {
    if (double.exitCode === undefined && double.isPrimary) {
      app.quit();
      await double.ended.promise;
    }
  });
  await startDesktop({ args, env: home.env, page: path.join(import.meta.dirname, 'page') });
}

async function openBinary(executablePath: string, home: TestHome): Promise<App> {
  const launched = await _electron.launch({
    executablePath,
    args: [path.join(root, 'dist', 'app', 'electron', 'main.js')],
    env: Object.fromEntries(
      Object.entries(home.env).flatMap(([name, value]) => (value ? [[name, value]] : [])),
    ),
  });
  onTestFinished(() => launched.close());
  return { page: await launched.firstWindow(), quit: () => launched.close() };
}

/** Asks the main process from the page, as the page's own script would. */
export async function ask<C extends ChannelName>(
  page: Page,
  channel: C,
  params: ParamsOn<C>,
): Promise<Envelope<ResultOn<C>>> {
  // The page has a `window` that these types, Node's, don't know.
  const call = ([name, given]: readonly [string, unknown]): Promise<unknown> =>
    (globalThis as unknown as { keyturn: AnyBridge }).keyturn.call(name, given);
  // What a channel answers has passed its schema in the main process.
  return (await page.evaluate(call, [channel, params] as const)) as Envelope<ResultOn<C>>;
}

interface AnyBridge {
  call(channel: string, params: unknown): Promise<unknown>;
}

/** The value of an answer; fails the test where it is a refusal. */
export function valueOf<T>(envelope: Envelope<T>): T {
  if (envelope.ok) return envelope.value;
  throw new Error(`refused: ${envelope.refusal.reason}: ${envelope.refusal.message}`);
}

/** Presses the page's button with a real mouse event; the page then asks this. Over the double only. */
export async function press<C extends ChannelName>(
  page: Page,
  channel: C,
  params: ParamsOn<C>,
): Promise<Envelope<ResultOn<C>>> {
  await page.evaluate((request) => void Object.assign(globalThis, { request }), [channel, params] as const);
  await page.getByRole('button').click();
  const outcome = (): Promise<unknown> => (globalThis as unknown as { outcome: Promise<unknown> }).outcome;
  return (await page.evaluate(outcome)) as Envelope<ResultOn<C>>;
}
