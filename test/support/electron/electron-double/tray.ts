/** The double's `Tray` and `Notification`. Either may fail, and a tray that was destroyed takes no call. */
import { EventEmitter } from 'node:events';
import type * as Electron from 'electron';
import { double, failNext } from './app.ts';

export class Tray extends EventEmitter {
  #isDestroyed = false;

  constructor(image: string) {
    super();
    failNext(!double.isReady, 'a tray is made once the app is ready');
    if (double.trayFails) throw new Error('no tray');
    double.tray = { image, toolTip: '' };
  }
  setImage(image: string): void {
    this.#shown().image = image;
  }
  setToolTip(toolTip: string): void {
    this.#shown().toolTip = toolTip;
  }
  setContextMenu(menu: Electron.MenuItemConstructorOptions[]): void {
    this.#shown();
    double.menu = menu;
  }
  destroy(): void {
    this.#isDestroyed = true;
    double.tray = undefined;
  }
  #shown(): NonNullable<typeof double.tray> {
    if (this.#isDestroyed || !double.tray) throw new Error('Tray is destroyed');
    return double.tray;
  }
}

export class Notification extends EventEmitter {
  static isSupported(): boolean {
    return double.showsNotifications !== 'never';
  }
  readonly options: Electron.NotificationConstructorOptions;
  constructor(options: Electron.NotificationConstructorOptions) {
    super();
    failNext(!double.isReady, 'a notification is made once the app is ready');
    this.options = options;
  }
  show(): void {
    if (double.showsNotifications === 'fails') setImmediate(() => this.emit('failed', {}, 'not signed'));
    else double.notifications.push(this);
  }
  close(): void {
    double.notifications = double.notifications.filter((other) => other !== this);
    this.emit('close', { reason: 'applicationHidden' });
  }
}
