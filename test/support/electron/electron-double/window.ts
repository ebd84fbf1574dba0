/** The double's BrowserWindow: a page of a real Chromium, with the events that Electron would emit for it. */
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import type * as Electron from 'electron';
import type { BrowserContext, Frame, Page, Route } from 'playwright';
import { app, double } from './app.ts';
import { windowsChromium } from '../../browsers/windows-chromium.ts';

/** Stands for our scheme, which Chromium alone doesn't know. */
const standIn = 'https://main.keyturn-app.test';
const own = 'keyturn-app://main';

const toStandIn = (url: string): string => (url.startsWith(own) ? standIn + url.slice(own.length) : url);
const fromStandIn = (url: string): string =>
  url.startsWith(standIn) ? own + url.slice(standIn.length) : url;

class WebFrame {
  readonly #frame: Frame;
  constructor(frame: Frame) {
    this.#frame = frame;
  }
  get url(): string {
    return fromStandIn(this.#frame.url());
  }
  get origin(): string {
    const { protocol, host } = new URL(this.url);
    return host === '' ? 'null' : `${protocol}//${host}`;
  }
  get parent(): WebFrame | null {
    const parent = this.#frame.parentFrame();
    return parent ? webFrame(parent) : null;
  }
}

const webFrames = new WeakMap<Frame, WebFrame>();

/** One for each frame, as in Electron: it is compared by identity. */
function webFrame(frame: Frame): WebFrame {
  const known = webFrames.get(frame) ?? new WebFrame(frame);
  webFrames.set(frame, known);
  return known;
}

class WebContents extends EventEmitter {
  readonly page: Promise<Page>;
  openHandler: (details: { url: string }) => Electron.WindowOpenHandlerResponse = () => ({ action: 'allow' });
  /** The address that the main process is loading: no navigation of the page's. */
  #loading: string | undefined;
  #page: Page | undefined;
  #isFocused = false;

  constructor({ width = 800, height = 600, webPreferences }: Electron.BrowserWindowConstructorOptions) {
    super();
    this.page = this.#open(webPreferences, { width, height });
    this.page.catch(() => undefined);
  }

  get mainFrame(): WebFrame | undefined {
    return this.#page && webFrame(this.#page.mainFrame());
  }

  setWindowOpenHandler(handler: typeof this.openHandler): void {
    this.openHandler = handler;
  }

  send(channel: string, ...args: unknown[]): void {
    double.told.push(structuredClone(args));
    const given = [channel, args] as const;
    // The page has a `window` that these types, Node's, don't know.
    const deliver = ([name, values]: typeof given): void =>
      (globalThis as unknown as Receiver).electronDouble?.deliver(name, values);
    void this.#page?.evaluate(deliver, given).catch(() => undefined);
  }

  async load(url: string): Promise<void> {
    const page = await this.page;
    this.#loading = toStandIn(url).split('#', 1)[0];
    await page.goto(toStandIn(url));
  }

  /** Playwright lets every page think that it has the focus. In Electron a page has it with its window only. */
  setFocused(isFocused: boolean): void {
    this.#isFocused = isFocused;
    this.#tellFocus();
  }

  #tellFocus(): void {
    const tell = (isFocused: boolean): void =>
      (globalThis as unknown as Receiver).electronDouble?.setFocused(isFocused);
    void this.#page?.evaluate(tell, this.#isFocused).catch(() => undefined);
  }

  async #open(
    { preload = '', additionalArguments = [] }: Electron.WebPreferences = {},
    size: { width: number; height: number },
  ): Promise<Page> {
    const context: BrowserContext = await windowsChromium();
    const page = await context.newPage();
    await page.setViewportSize(size);
    this.#page = page;
    await page.exposeBinding('electronInvoke', ({ frame }, channel: string, args: unknown[]) =>
      this.#invoke(frame, channel, args),
    );
    await page.exposeBinding('electronInput', (_source, type: string) => {
      this.emit('input-event', {}, { type });
    });
    await page.addInitScript(initScript(readFileSync(preload, 'utf8'), additionalArguments));
    await page.route('**', (route) => this.#answer(route));
    // A new document knows nothing of it yet.
    page.on('domcontentloaded', () => this.#tellFocus());
    page.on('popup', (popup) => {
      if (this.openHandler({ url: popup.url() }).action === 'deny') void popup.close();
    });
    return page;
  }

  async #invoke(frame: Frame, channel: string, args: unknown[]): Promise<unknown> {
    const handler = double.handlers.get(channel);
    if (!handler) throw new Error(`No handler registered for ${channel}`);
    double.asked.push(args);
    // Null once the frame is gone.
    const senderFrame = frame.isDetached() ? null : webFrame(frame);
    const event = { sender: this, senderFrame } as unknown as Electron.IpcMainInvokeEvent;
    const answer = structuredClone(await handler(event, ...args));
    double.told.push(answer);
    double.answered.push({ args, answer });
    return answer;
  }

  async #answer(route: Route): Promise<void> {
    const request = route.request();
    const url = fromStandIn(request.url());
    if (request.isNavigationRequest() && !this.#mayNavigate(request.url(), request.frame())) {
      // An answer without a document leaves the page where it is.
      return route.fulfill({ status: 204 });
    }
    let isCancelled = false;
    double.beforeRequest?.({ url }, ({ cancel }) => (isCancelled = cancel === true));
    if (isCancelled) return route.abort();
    const handler = double.protocols.get(new URL(url).protocol.slice(0, -1));
    if (!handler) {
      double.leaked.push(url);
      return route.abort();
    }
    const response = await handler(new Request(url, { method: request.method() }));
    await route.fulfill({
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: Buffer.from(await response.arrayBuffer()),
    });
  }

  /** Asks as Electron does, where the page itself wants to leave. */
  #mayNavigate(requested: string, frame: Frame): boolean {
    const isMainFrame = frame.parentFrame() === null;
    const isOurs = isMainFrame && requested.split('#', 1)[0] === this.#loading;
    if (isMainFrame) this.#loading = undefined;
    let isPrevented = false;
    const event = {
      url: fromStandIn(requested),
      isMainFrame,
      isSameDocument: false,
      preventDefault: () => (isPrevented = true),
    };
    if (!isOurs) {
      this.emit('will-frame-navigate', event);
      if (isMainFrame) this.emit('will-navigate', event);
    }
    if (!isPrevented) this.emit('did-start-navigation', event);
    return !isPrevented;
  }
}

/** What runs before the page's own scripts: the preload file, and the reports that Electron gets from Chromium. */
function initScript(preload: string, args: readonly string[]): string {
  return `(() => {
    if (window !== window.top) return;
    const { electronInvoke, electronInput } = window;
    delete window.electronInvoke;
    delete window.electronInput;
    const listeners = new Map();
    const electron = {
      contextBridge: { exposeInMainWorld: (name, api) =>
        Object.defineProperty(window, name, { value: Object.freeze(api), enumerable: true }) },
      ipcRenderer: {
        invoke: (channel, ...args) => electronInvoke(channel, args),
        on: (channel, heard) => listeners.set(heard, channel),
        off: (channel, heard) => listeners.delete(heard),
      },
    };
    let hasFocus = false;
    Object.defineProperty(document, 'hasFocus', { value: () => hasFocus });
    Object.defineProperty(window, 'electronDouble', { value: {
      deliver: (channel, args) => {
        for (const [heard, name] of listeners) if (name === channel) heard({}, ...args);
      },
      setFocused: (isFocused) => {
        if (isFocused === hasFocus) return;
        hasFocus = isFocused;
        dispatchEvent(new Event(isFocused ? 'focus' : 'blur'));
      },
    } });
    const types = { keydown: 'rawKeyDown', mousedown: 'mouseDown', mousemove: 'mouseMove' };
    for (const [name, type] of Object.entries(types))
      addEventListener(name, (event) => { if (event.isTrusted) electronInput(type); }, true);
    (function (require, process) { ${preload} })(() => electron, { argv: ${JSON.stringify(args)} });
  })();`;
}

const destroyed: PropertyDescriptor = {
  get: () => {
    throw new TypeError('Object has been destroyed');
  },
};

/** What is left of an object that was destroyed answers whether it was, and nothing else. */
function refuseCalls(ended: object): void {
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(ended)))
    if (!['constructor', 'isDestroyed', 'destroy'].includes(name))
      Object.defineProperty(ended, name, destroyed);
}

interface Receiver {
  readonly electronDouble?: {
    deliver(channel: string, args: readonly unknown[]): void;
    setFocused(isFocused: boolean): void;
  };
}

export class BrowserWindow
  extends EventEmitter
  implements
    Pick<
      Electron.BrowserWindow,
      'loadURL' | 'show' | 'showInactive' | 'flashFrame' | 'hide' | 'focus' | 'blur' | 'minimize' | 'restore'
    >
{
  readonly options: Electron.BrowserWindowConstructorOptions;
  readonly webContents: WebContents;
  readonly #contents: WebContents;
  readonly #state = { visible: false, focused: false, minimized: false, destroyed: false };

  #size: readonly [number, number];

  constructor(options: Electron.BrowserWindowConstructorOptions) {
    super();
    this.options = options;
    this.#size = [options.width ?? 0, options.height ?? 0];
    this.webContents = this.#contents = new WebContents(options);
    double.windows.push(this);
    app.emit('web-contents-created', {}, this.webContents);
  }

  loadURL(url: string): Promise<void> {
    return this.#contents.load(url);
  }
  show(): void {
    this.#become('show', { visible: true });
    this.focus();
  }
  showInactive(): void {
    this.#become('show', { visible: true });
    if (double.focus === 'taken') this.#takeFocus();
  }
  flashFrame(): void {}
  hide(): void {
    this.#become('hide', { visible: false, focused: false });
  }
  focus(): void {
    if (double.focus !== 'refused') this.#takeFocus();
  }
  /** Later: the desktop gives it. */
  #takeFocus(): void {
    setImmediate(() => {
      if (this.#state.destroyed || this.#state.focused || !this.#state.visible) return;
      // Only one window has it.
      for (const other of double.windows) if (other !== this && other.isFocused()) other.blur();
      this.#become('focus', { focused: true });
    });
  }
  blur(): void {
    this.#become('blur', { focused: false });
  }
  minimize(): void {
    this.#become('minimize', { minimized: true, focused: false });
  }
  restore(): void {
    this.#become('restore', { minimized: false });
  }
  isVisible(): boolean {
    return this.#state.visible;
  }
  isFocused(): boolean {
    return this.#state.focused;
  }
  isMinimized(): boolean {
    return this.#state.minimized;
  }
  isDestroyed(): boolean {
    return this.#state.destroyed;
  }
  setBackgroundColor(): void {}
  getBounds(): Electron.Rectangle {
    return this.getNormalBounds();
  }
  getContentSize(): number[] {
    return [...this.#size];
  }
  setContentSize(width: number, height: number): void {
    this.#size = [width, height];
    void this.#contents.page.then((page) => page.setViewportSize({ width, height })).catch(() => undefined);
  }
  getNormalBounds(): Electron.Rectangle {
    return { x: 0, y: 0, width: this.options.width ?? 0, height: this.options.height ?? 0 };
  }
  /** The page ends first, which takes a moment. */
  close(): void {
    let isPrevented = false;
    this.emit('close', { preventDefault: () => (isPrevented = true) });
    if (!isPrevented) setImmediate(() => this.destroy());
  }
  destroy(): void {
    if (this.#state.destroyed) return;
    this.#state.destroyed = true;
    const contents = this.#contents;
    double.windows = double.windows.filter((window) => window !== this);
    void contents.page.then((page) => page.close()).catch(() => undefined);
    refuseCalls(contents);
    refuseCalls(this);
    Object.defineProperty(this, 'webContents', destroyed);
    this.emit('closed');
    app.windowClosed();
  }

  #become(event: string, change: Partial<{ visible: boolean; focused: boolean; minimized: boolean }>): void {
    Object.assign(this.#state, change);
    this.emit(event);
    // Later than the main process, as in Electron.
    this.#contents.setFocused(this.#state.focused);
  }
}
