/**
 * The desktop app put together: the daemon, the tray and the windows, from the start to an orderly end.
 *
 * Invariant: one broker a home, whichever host has it. Quitting waits for the daemon, so that no
 * rotation is lost. What must hold before any page exists is set up before anything is awaited.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { app, clipboard, ipcMain, Menu, powerMonitor, protocol, session, shell } from 'electron';
import { openBrowser } from '../src/daemon/system/browser.ts';
import type { Daemon } from '../src/daemon/daemon.ts';
import type { InProcessOwner } from '../src/daemon/methods/dispatch.ts';
import { prepareFolders } from '../src/daemon/home/home.ts';
import { FileLog, type Log } from '../src/daemon/system/log.ts';
import { methods, notifications } from '../src/ipc/protocol/methods.ts';
import { after as realAfter, type After } from '../src/ipc/wire/timer.ts';
import { homePaths, type HomePaths } from '../src/base/paths.ts';
import { refuseExposure, shieldDesktop } from '../src/base/shield.ts';
import { exportByDialog } from './windows/audit-dialog.ts';
import { channelHandlers } from './windows/channel-handlers.ts';
import { TrayController } from './tray-controller.ts';
import { applicationMenu } from './windows/application-menu.ts';
import { pageFolder, preloadFile } from './base/files.ts';
import { mayOpenAgain, mayRemoveService, sayRefusedSwitches, sayStartFailed } from './windows/dialogs.ts';
import { hardenApp, hardenSession } from './windows/hardening.ts';
import { answerWindows } from './windows/ipc.ts';
import { spawnKeychainChild, spawnProxyChild } from './system/children.ts';
import { ClientSetup } from './windows/client-setup.ts';
import { loginItem } from './system/login-item.ts';
import { broughtCommand, commandOf, noteCommand } from './system/own-command.ts';
import { pageScheme, pageSchemeName, servePage } from './windows/page.ts';
import { stopBeforeQuit } from './system/orderly-quit.ts';
import { PreferenceFile } from './system/preferences.ts';
import { proxyFrom } from './system/proxy.ts';
import { watchScreenLock } from './system/screen-lock.ts';
import { missingTray, showsTray, untilTrayIsShown } from './tray/missing-tray.ts';
import { SignInPages } from './windows/sign-in-pages.ts';
import { forbiddenSwitches, hiddenSwitch } from './base/switches.ts';
import { replaceRunningDaemon } from './system/replace-daemon.ts';
import { Windows } from './windows/windows.ts';
import { useLocale } from './base/words.ts';
import { sayEarlierFault } from './base/faults.ts';
import { englishLocale } from '../words/locale.ts';

/** As electron-builder.yml has it: Windows shows a notification only of what its start menu knows by this name. */
const appId = 'io.keyturn.desktop';

/**
 * By which Windows starts the app for a click on its notification. Chosen once, at random: without it Electron makes up
 * another at each start, and each stays in the registry.
 */
const toastActivator = '{A5966309-F74D-49DC-A385-97FA2EB1647E}';

export interface DesktopOptions {
  /** The command line without the program. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The real clock's unless given. */
  readonly after?: After;
  /** Whether anything draws the tray's icons; asks the desktop unless given. */
  readonly showsTray?: () => Promise<boolean>;
}

/** Resolves once the app is up, or is about to end. */
export async function startDesktop(options: DesktopOptions): Promise<void> {
  const forbidden = forbiddenSwitches(options.args);
  if (forbidden.length > 0) {
    await sayRefusedSwitches(forbidden, options.env);
    app.exit(2);
    return;
  }
  // Only the user may read the files that we create.
  process.umask(0o077);
  try {
    const paths = homePaths(options.env);
    refuseExposure(options.env);
    if (!claimInstance(paths)) return;
    protocol.registerSchemesAsPrivileged([pageScheme]);
    hardenApp(app);
    setAppId();
    // Windows come and go; the app stays in the tray.
    app.on('window-all-closed', () => undefined);
    const opening = app.whenReady().then(() => {
      // Only from here on does Electron know it.
      useLocale(englishLocale(app.getSystemLocale()));
      Menu.setApplicationMenu(applicationMenu());
      return open(options, paths);
    });
    showAtNextStart(opening);
    await opening;
  } catch (error) {
    await sayStartFailed(error);
    app.exit(1);
  }
}

/** False, and about to quit, where this home's app runs already: that one shows its window. */
function claimInstance(paths: HomePaths): boolean {
  prepareFolders(paths);
  const userData = path.join(paths.state, 'desktop');
  mkdirSync(userData, { recursive: true });
  // Electron locks this folder, so that it means one app a home; and Chromium's files go there.
  app.setPath('userData', userData);
  if (app.requestSingleInstanceLock()) return true;
  app.quit();
  return false;
}

/** What Windows has to be told of this app before it is ready. */
function setAppId(): void {
  // From a clone it would put Electron into the start menu.
  if (process.platform !== 'win32' || !app.isPackaged) return;
  app.setAppUserModelId(appId);
  app.setToastActivatorCLSID(toastActivator);
}

async function open(options: DesktopOptions, paths: HomePaths): Promise<TrayController> {
  hardenSession(session.defaultSession);
  protocol.handle(pageSchemeName, servePage(pageFolder));
  const log = new FileLog(path.join(paths.state, 'broker.log'), () => Date.now());
  const pages = signInPages(options.env, () => owner);
  const daemon = await replaceRunningDaemon(
    {
      paths,
      env: options.env,
      // Recorded settings win: what a desktop session happens to set is nobody's decision.
      autoStarted: true,
      keyturnApp: true,
      openBrowser: (url) => pages.openIfAllowed(url),
      spawnWorker: spawnKeychainChild,
      spawnProxy: spawnProxyChild,
      proxyFor: async (url) => proxyFrom(await session.defaultSession.resolveProxy(url)),
      log,
      shield: shieldDesktop,
    },
    mayRemoveService,
  );
  let controller: TrayController | undefined;
  const owner = daemon.owner((method) => {
    const change = notifications.find((name) => name === method);
    if (change) controller?.noteChange(change);
  });
  try {
    controller = connectDesktop({ options, paths, daemon, owner, pages, log });
    stopBeforeQuit(daemon, () => controller?.close());
    await controller.refresh();
  } catch (error) {
    // Apps are served by now: what is under way is finished first.
    await daemon.stop();
    throw error;
  }
  const command = commandOf({ env: options.env, isPackaged: app.isPackaged });
  // Without it the command line says that the app doesn't run, and can't offer to start it.
  await noteCommand(paths, command).catch(() => log.write('app: its own command could not be noted'));
  sayEarlierFault();
  await appear(controller, options, startsHidden(options.args) && !wantsWindow(paths));
  return controller;
}

/** Shows the icon, and the window unless it is hidden: then only if there is no icon, or none that anybody sees. */
async function appear(
  controller: TrayController,
  { env, after = realAfter, showsTray: isShown = () => showsTray(env) }: DesktopOptions,
  isHidden: boolean,
): Promise<void> {
  const show = async (isSeen: boolean): Promise<void> => {
    const isMade = await controller.makeTray();
    if (isHidden && !(isMade && isSeen)) await controller.perform({ type: 'open' });
  };
  if (!isHidden) await controller.perform({ type: 'open' });
  if (await isShown()) return show(true);
  void untilTrayIsShown(isShown, after).then(show);
}

/** Shows the window when the app is started again, also while it still waits for another broker to stop. */
function showAtNextStart(opening: Promise<TrayController>): void {
  const show = async (): Promise<void> => {
    // The first start says why it could not be opened.
    const controller = await opening.catch(() => undefined);
    await controller?.perform({ type: 'open' });
  };
  app.on('second-instance', () => void show());
  app.on('activate', () => void show());
}

/** The user wants a window at login. Where their choices can't be read: no. */
function wantsWindow(paths: HomePaths): boolean {
  try {
    return new PreferenceFile(paths.config).choices().windowAtLogin;
  } catch {
    return false;
  }
}

/** macOS hands no arguments to what it starts at login. */
function startsHidden(args: readonly string[]): boolean {
  if (args.includes(hiddenSwitch)) return true;
  return process.platform === 'darwin' && app.getLoginItemSettings().wasOpenedAtLogin;
}

interface DesktopParts {
  readonly options: DesktopOptions;
  readonly paths: HomePaths;
  readonly daemon: Pick<Daemon, 'resumed' | 'broker'>;
  readonly owner: InProcessOwner;
  readonly pages: SignInPages;
  readonly log: Log;
}

/** Connects the tray, the windows and the system's events with the daemon. */
function connectDesktop({ options, paths, daemon, owner, pages, log }: DesktopParts): TrayController {
  const preferences = new PreferenceFile(paths.config);
  const windows = newWindows(options, preferences, log);
  const atLogin = loginItem(app, { env: options.env, isPackaged: app.isPackaged });
  // A clone that somebody tries must not take the place of the installed app.
  if (app.isPackaged)
    void atLogin.renew().catch(() => log.write('app: the start at login still names another program'));
  // Set below: the listener starts before there is a controller.
  const made: { controller?: TrayController } = {};
  const screenLock = watchScreenLock(powerMonitor, {
    env: options.env,
    onLocked: () => made.controller?.screenLocked(),
    onLost: () => made.controller?.screenLockLost(),
    onChange: () => made.controller?.noteChange('preferences.changed'),
  });
  const controller = new TrayController({
    owner,
    windows,
    screenLock,
    preferences,
    loginItem: atLogin,
    signInPages: pages,
    quit: () => app.quit(),
    online: () => daemon.resumed(),
    log: log.write,
  });
  made.controller = controller;
  const preferencesChanged = (): void => controller.noteChange('preferences.changed');
  const handlers = channelHandlers({
    owner,
    clientSetup: new ClientSetup({
      env: options.env,
      brought: broughtCommand({ env: options.env, isPackaged: app.isPackaged }),
      stateFolder: paths.state,
      owner,
      network: daemon.broker.parts.network,
    }),
    windows,
    preferences,
    loginItem: atLogin,
    screenLock,
    signInPages: pages,
    copy: (text) => clipboard.writeText(text),
    restart: () => restart(options),
    exportAudit: ({ browser }, format) => exportByDialog(paths, browser, format),
    preferencesChanged,
  });
  answerWindows(ipcMain, windows, handlers);
  const { env, showsTray: isShown = () => showsTray(env) } = options;
  const windowsClosed = missingTray({ preferences, loginItem: atLogin, isShown, preferencesChanged });
  app.on('window-all-closed', () => {
    windowsClosed().catch(() => log.write('app: a window at login could not be offered or set up'));
  });
  watchPower(daemon, controller);
  return controller;
}

/** Timers stood still while the machine slept, and the network may be another one. */
function watchPower(daemon: Pick<Daemon, 'resumed'>, controller: TrayController): void {
  powerMonitor.on('resume', () => {
    daemon.resumed();
    void controller.refresh();
  });
  // Linux and macOS. Without the delay a rotation under way would be cut. Electron's types leave the event out.
  const shutDown = (event?: { preventDefault(): void }): void => {
    event?.preventDefault();
    app.quit();
  };
  powerMonitor.on('shutdown', shutDown);
}

/** Once this process has ended. */
function restart({ args, env }: DesktopOptions): void {
  const [execPath = process.execPath] = commandOf({ env, isPackaged: app.isPackaged });
  app.relaunch({ execPath, args: args.filter((arg) => arg !== hiddenSwitch) });
  app.quit();
}

/** The app's windows. If a page crashes, they offer to open it again. */
function newWindows({ after = realAfter }: DesktopOptions, preferences: PreferenceFile, log: Log): Windows {
  const windows = new Windows({
    preferences,
    preload: preloadFile,
    now,
    after,
    crashed: (shown) => {
      const openAgain = async (): Promise<void> => {
        if (await mayOpenAgain()) await windows.show(shown);
      };
      openAgain().catch(() => log.write('app: no window could be opened'));
    },
    sessionEnds: () => app.quit(),
  });
  return windows;
}

function signInPages(env: NodeJS.ProcessEnv, owner: () => InProcessOwner): SignInPages {
  const { result: status } = methods.status;
  return new SignInPages({
    now,
    questions: async () =>
      methods['request.list'].result.parse(await owner().call('request.list', {})).requests,
    open: async (url) => {
      const { browser } = status.parse(await owner().call('status', {}));
      if (browser === undefined) await shell.openExternal(url);
      else await openBrowser(url, { env, command: browser });
    },
  });
}

/** Milliseconds; doesn't jump when the clock is set. */
const now = (): number => performance.now();
