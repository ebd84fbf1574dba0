/** The double's `app`, and what a test sees and sets of the whole. */
import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type * as Electron from 'electron';
import type { BrowserWindow } from './window.ts';

type IpcHandler = (event: Electron.IpcMainInvokeEvent, ...args: unknown[]) => unknown;

interface DoubleTray {
  image: string;
  toolTip: string;
}

interface DoubleNotification extends EventEmitter {
  readonly options: Electron.NotificationConstructorOptions;
}

/** Everything fresh: as after the start of a process. */
function fresh() {
  return {
    isReady: false,
    /** The app is ready after this. */
    starting: Promise.resolve(),
    isPackaged: false,
    isSandboxed: false,
    /** By which Windows knows the app. */
    appId: '',
    toastActivator: '',
    isPrimary: true,
    isOnline: true,
    proxy: 'DIRECT',
    /** What the user chooses in a save dialog; empty: cancels. */
    savePath: '',
    schemes: [] as Electron.CustomScheme[],
    protocols: new Map<string, (request: Request) => Promise<Response>>(),
    handlers: new Map<string, IpcHandler>(),
    /** The channels of `ipcMain.on`. The app needs none. */
    listeners: new Set<string>(),
    permissionRequest: undefined as
      | Parameters<Electron.Session['setPermissionRequestHandler']>[0]
      | undefined,
    permissionCheck: undefined as Parameters<Electron.Session['setPermissionCheckHandler']>[0] | undefined,
    devicePermission: undefined as Parameters<Electron.Session['setDevicePermissionHandler']>[0] | undefined,
    beforeRequest: undefined as
      | ((details: { url: string }, answer: (response: Electron.CallbackResponse) => void) => void)
      | undefined,
    session: new EventEmitter(),
    power: new EventEmitter(),
    theme: Object.assign(new EventEmitter(), { shouldUseDarkColors: false }),
    windows: [] as BrowserWindow[],
    tray: undefined as DoubleTray | undefined,
    trayFails: false,
    showsNotifications: 'always' as 'always' | 'fails' | 'never',
    /** `refused`: a window that asks for the focus doesn't get it. `taken`: one that is shown without it gets it. */
    focus: 'asked' as 'asked' | 'refused' | 'taken',
    /** The tray's. */
    menu: [] as Electron.MenuItemConstructorOptions[],
    /** Electron's own until the app sets another, or none. */
    applicationMenu: 'the default' as unknown,
    notifications: [] as DoubleNotification[],
    clipboard: '',
    /** URLs that were given to the system's browser. */
    opened: [] as string[],
    errors: [] as string[],
    /** Messages with buttons, and the number of the button that is pressed. */
    messages: [] as string[],
    pressed: 0,
    /** Files that were started as children. */
    children: [] as string[],
    /** Everything that pages asked of the main process, and everything that it told them. */
    asked: [] as unknown[],
    told: [] as unknown[],
    /** Each answer to a page, with the call that it answers: the page may close before it hears the answer. */
    answered: [] as { readonly args: readonly unknown[]; readonly answer: unknown }[],
    /** Addresses that a page asked for and that the app did not cancel, other than its own. */
    leaked: [] as string[],
    paths: new Map<string, string>(),
    /** The system's: by which country dates are written. */
    locale: 'en-US',
    /** The arguments with which the app starts again once it has ended. */
    relaunched: undefined as readonly string[] | undefined,
    isQuitting: false,
    exitCode: undefined as number | undefined,
    ended: Promise.withResolvers<void>(),
  };
}

export const double = { ...fresh(), reset };

function reset(): void {
  app.removeAllListeners();
  app.setLoginItemSettings({});
  for (const emitter of [double.power, double.session, double.theme]) emitter.removeAllListeners();
  const { power: _power, session: _session, theme: _theme, ...state } = fresh();
  Object.assign(double, state);
}

export function failNext(isWrong: boolean, rule: string): void {
  if (isWrong) throw new Error(`Electron would refuse this: ${rule}`);
}

// Where Electron has its own: in a package they are beside the archive.
Object.defineProperty(process, 'resourcesPath', { value: '/nonexistent/resources', configurable: true });

class App extends EventEmitter {
  readonly #login = { openAtLogin: false };

  get isPackaged(): boolean {
    return double.isPackaged;
  }
  isReady(): boolean {
    return double.isReady;
  }

  enableSandbox(): void {
    failNext(double.isReady, 'enableSandbox comes before the app is ready');
    double.isSandboxed = true;
  }
  setPath(name: string, folder: string): void {
    double.paths.set(name, folder);
  }
  getPath(name: string): string {
    return double.paths.get(name) ?? '/nonexistent';
  }
  getSystemLocale(): string {
    failNext(!double.isReady, 'the locale is asked for once the app is ready');
    return double.locale;
  }
  getVersion(): string {
    return '0.0.0';
  }
  setAppUserModelId(id: string): void {
    double.appId = id;
  }
  setToastActivatorCLSID(id: string): void {
    failNext(double.isReady, 'the activator is named before the app is ready');
    double.toastActivator = id;
  }
  requestSingleInstanceLock(): boolean {
    return double.isPrimary;
  }
  async whenReady(): Promise<void> {
    await setImmediate();
    await double.starting;
    double.isReady = true;
  }
  getLoginItemSettings(): Pick<Electron.LoginItemSettings, 'openAtLogin'> {
    return this.#login;
  }
  setLoginItemSettings({ openAtLogin = false }: Electron.Settings): void {
    this.#login.openAtLogin = openAtLogin;
  }
  relaunch({ args }: Electron.RelaunchOptions = {}): void {
    double.relaunched = args ?? process.argv.slice(1);
  }
  quit(): void {
    let isPrevented = false;
    this.emit('before-quit', { preventDefault: () => (isPrevented = true) });
    if (isPrevented) return;
    double.isQuitting = true;
    for (const window of double.windows) window.close();
    this.windowClosed();
  }
  exit(code = 0): void {
    double.exitCode = code;
    for (const window of double.windows) window.destroy();
    double.ended.resolve();
  }
  /** For the window: one is gone, or none was there. */
  windowClosed(): void {
    if (double.windows.length > 0 || double.exitCode !== undefined) return;
    if (!double.isQuitting) return void this.emit('window-all-closed');
    this.emit('will-quit', { preventDefault: () => undefined });
    double.ended.resolve();
  }
}

export const app = new App();
