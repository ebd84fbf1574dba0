/**
 * A double of the `electron` module: as much of it as electron/ uses, with Electron's own types, where a window is a
 * page of a real Chromium.
 *
 * Invariant: it refuses what Electron refuses: a call after the end of a window or a tray, or before the app is ready.
 * What crosses between page and main process is cloned and recorded. A page reaches no network: the app's own handler
 * serves our scheme, under an https name, and the rest is noted and refused. `npm run test:electron` proves what
 * Electron itself keeps.
 */
import type * as Electron from 'electron';
import { app, double, failNext } from './electron-double/app.ts';
import { utilityProcess } from './electron-double/children.ts';
import { Notification, Tray } from './electron-double/tray.ts';
import { BrowserWindow } from './electron-double/window.ts';

export { app, BrowserWindow, double, Notification, Tray, utilityProcess };

export const ipcMain = {
  handle: (channel: string, handler: typeof double.handlers extends Map<string, infer H> ? H : never) =>
    void double.handlers.set(channel, handler),
  on: (channel: string) => void double.listeners.add(channel),
  removeAllListeners: (channel: string) => void double.listeners.delete(channel),
};

export const protocol = {
  registerSchemesAsPrivileged: (schemes: Electron.CustomScheme[]) => {
    failNext(double.isReady, 'schemes are registered before the app is ready');
    double.schemes.push(...schemes);
  },
  handle: (scheme: string, handler: (request: Request) => Promise<Response>) => {
    failNext(!double.isReady, 'a scheme is handled once the app is ready');
    double.protocols.set(scheme, handler);
  },
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

export const session = {
  get defaultSession() {
    failNext(!double.isReady, 'there is a session once the app is ready');
    return defaultSession;
  },
};

export const nativeTheme = double.theme;
export const screen = { getDisplayMatching: () => ({ workArea: { x: 0, y: 0, width: 1280, height: 800 } }) };
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
  showMessageBox: ({ type, message, detail }: Electron.MessageBoxOptions): Promise<{ response: number }> => {
    failNext(!double.isReady, 'a message is shown once the app is ready');
    if (type === 'error') double.errors.push(`${message}: ${detail}`);
    else double.messages.push(message);
    return Promise.resolve({ response: double.pressed });
  },
  showSaveDialog: (): Promise<Electron.SaveDialogReturnValue> =>
    Promise.resolve({ canceled: double.savePath === '', filePath: double.savePath }),
};

export const Menu = {
  buildFromTemplate: (template: Electron.MenuItemConstructorOptions[]) => template,
  setApplicationMenu: (menu: unknown) => void (double.applicationMenu = menu),
};

export default { app, ipcMain, shell };
