/**
 * A double of the `electron` module: as much of it as electron/ uses, with Electron's own types, where a
 * window is a page of a real Chromium.
 *
 * Invariant: what crosses between a page and the main process is cloned and recorded; a page reaches no
 * network: our scheme's addresses are served by the app's own handler, under an https name that stands for
 * them, and everything else is refused after it was noted. It proves what the app asks of Electron, not
 * that Electron keeps it: that is what `npm run test:electron` is for.
 */
import { fork } from 'node:child_process';
import { EventEmitter } from 'node:events';
import path from 'node:path';
import type * as Electron from 'electron';
import { app, double, failNext } from './electron-double/app.ts';
import { BrowserWindow } from './electron-double/window.ts';

export { app, BrowserWindow, double };

export const ipcMain = {
  handle: (channel: string, handler: typeof double.handlers extends Map<string, infer H> ? H : never) =>
    void double.handlers.set(channel, handler),
  on: () => undefined,
};

export const protocol = {
  registerSchemesAsPrivileged: (schemes: Electron.CustomScheme[]) => {
    failNext(double.isReady, 'schemes are registered before the app is ready');
    double.schemes.push(...schemes);
  },
  handle: (scheme: string, handler: (request: Request) => Promise<Response>) =>
    void double.protocols.set(scheme, handler),
};

const defaultSession = {
  setPermissionRequestHandler: (handler: typeof double.permissionRequest) =>
    void (double.permissionRequest = handler),
  setPermissionCheckHandler: (handler: typeof double.permissionCheck) =>
    void (double.permissionCheck = handler),
  setDevicePermissionHandler: (handler: typeof double.devicePermission) =>
    void (double.devicePermission = handler),
  on: (event: string, listener: (...args: unknown[]) => void) => void double.session.on(event, listener),
  webRequest: {
    onBeforeRequest: (handler: typeof double.beforeRequest) => void (double.beforeRequest = handler),
  },
  resolveProxy: (): Promise<string> => Promise.resolve(double.proxy),
};

export const session = { defaultSession };

export const nativeTheme = double.theme;
export const screen = {
  getDisplayMatching: () => ({ workArea: { x: 0, y: 0, width: 1280, height: 800 } }),
};
export const powerMonitor = double.power;
export const net = { isOnline: (): boolean => double.isOnline };

export const shell = {
  openExternal: (url: string): Promise<void> => {
    double.opened.push(url);
    return Promise.resolve();
  },
};

export const clipboard: Pick<Electron.Clipboard, 'writeText'> = {
  writeText: (text) => {
    double.clipboard = text;
    return Promise.resolve();
  },
};

export const dialog = {
  showErrorBox: (title: string, content: string): void => void double.errors.push(`${title}: ${content}`),
  showMessageBox: ({ message }: Electron.MessageBoxOptions): Promise<{ readonly response: number }> => {
    double.messages.push(message);
    return Promise.resolve({ response: double.pressed });
  },
  showSaveDialog: (): Promise<Electron.SaveDialogReturnValue> =>
    Promise.resolve({ canceled: double.savePath === '', filePath: double.savePath }),
};

export const Menu = {
  buildFromTemplate: (template: Electron.MenuItemConstructorOptions[]) => template,
  setApplicationMenu: (menu: unknown) => void (double.applicationMenu = menu),
};

export class Tray extends EventEmitter {
  constructor(image: string) {
    super();
    if (double.trayFails) throw new Error('no tray');
    double.tray = { image, toolTip: '' };
  }
  setImage(image: string): void {
    if (double.tray) double.tray.image = image;
  }
  setToolTip(toolTip: string): void {
    if (double.tray) double.tray.toolTip = toolTip;
  }
  setContextMenu(menu: Electron.MenuItemConstructorOptions[]): void {
    double.menu = menu;
  }
  destroy(): void {
    double.tray = undefined;
  }
}

export class Notification extends EventEmitter {
  static isSupported(): boolean {
    return true;
  }
  readonly options: Electron.NotificationConstructorOptions;
  constructor(options: Electron.NotificationConstructorOptions) {
    super();
    this.options = options;
  }
  show(): void {
    double.notifications.push(this);
  }
  close(): void {
    double.notifications = double.notifications.filter((other) => other !== this);
    this.emit('close');
  }
}

/** The delivered form of a module of ours: to read its TypeScript takes a child as long as its work. */
function builtFile(module: string): string {
  const root = path.join(import.meta.dirname, '..', '..', '..');
  return path.join(root, 'dist', 'app', path.relative(root, module)).replace(/\.ts$/, '.js');
}

export const utilityProcess = {
  /** A real process, with the channel that Electron gives it. */
  fork: (modulePath: string, args: string[]) => {
    const channel = path.join(import.meta.dirname, 'parent-port.mjs');
    const child = fork(builtFile(modulePath), args, { execArgv: ['--import', channel], stdio: 'ignore' });
    double.children.push(modulePath);
    return Object.assign(child, { postMessage: (message: object) => void child.send(message) });
  },
};

export default { app, ipcMain, shell };
