/**
 * The desktop app in a real Electron, driven by Chromium's debugging protocol and entry.mjs. Its own files run
 * unchanged.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright';
import * as z from 'zod';
import { type TestHome, until } from '../support/home.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import type { App, AtEnd } from './rig.ts';

const entry = path.join(import.meta.dirname, 'entry.mjs');

const seenSchema = z.object({
  picture: z.string(),
  rows: z.array(z.string()),
  notifications: z.array(z.string()),
});

export async function openBinary(
  program: string,
  home: TestHome,
  args: readonly string[],
  atEnd: AtEnd,
): Promise<App> {
  const folder = temporaryFolder(atEnd);
  const server = createServer().listen(path.join(folder, 'entry'));
  atEnd(() => void server.close());
  await once(server, 'listening');
  const connected = once(server, 'connection');
  const child = spawn(program, [entry, ...args], { env: environment(home, folder), stdio: 'inherit' });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  atEnd(() => end(child, gone));
  const [socket] = (await Promise.race([connected, gone.then(ended)])) as [Socket];
  const ask = asking(socket);
  const look = async () => seenSchema.parse(await ask('look'));
  // The app shows all of it anew at every look, and it looks when its daemon has started.
  await until('the icon', async () => (await look()).picture);
  const portFile = path.join(home.paths.state, 'desktop', 'DevToolsActivePort');
  await until('the port of the debugging protocol', () => existsSync(portFile));
  const [port] = readFileSync(portFile, 'utf8').split('\n', 1);
  const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`);
  atEnd(() => browser.close().catch(() => undefined));
  return {
    pages: () => Promise.resolve(browser.contexts().flatMap((context) => context.pages())),
    tray: look,
    choose: (row) => until(`a row ${row}`, () => ask('row', row)).then(() => undefined),
    notifications: async () => (await look()).notifications,
    clickNotification: (words) =>
      until(`a notification of ${words}`, () => ask('notification', words)).then(() => undefined),
    signal: async (name) => void child.kill(name),
    gone: () => gone,
    quit: () => end(child, gone),
  };
}

function ended(): never {
  throw new Error('the app ended at its start');
}

/** Asks entry.mjs one question after another. */
function asking(socket: Socket): (name: string, words?: string) => Promise<unknown> {
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  let last: Promise<unknown> = Promise.resolve();
  return (name, words) => {
    last = last.then(async () => {
      socket.write(`${JSON.stringify([name, words])}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error('the app has ended');
      return JSON.parse(value) as unknown;
    });
    return last;
  };
}

async function end(child: ChildProcess, gone: Promise<void>): Promise<void> {
  child.kill('SIGTERM');
  await gone;
}

/** The home's own, what leads to this machine's screen, and folders for what Chromium and its libraries write. */
function environment({ env }: TestHome, folder: string): NodeJS.ProcessEnv {
  const { DISPLAY, WAYLAND_DISPLAY, XAUTHORITY } = process.env;
  const dirs = ['CONFIG', 'CACHE', 'DATA'].map(
    (kind) => [`XDG_${kind}_HOME`, path.join(folder, kind)] as const,
  );
  for (const [, made] of dirs) mkdirSync(made, { mode: 0o700 });
  const KEYTURN_TEST_SOCKET = path.join(folder, 'entry');
  return { DISPLAY, WAYLAND_DISPLAY, XAUTHORITY, ...env, ...Object.fromEntries(dirs), KEYTURN_TEST_SOCKET };
}
