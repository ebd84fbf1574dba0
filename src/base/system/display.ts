/** Whether a window, or a page, can open for this process. Every cold command loads this file. */
import { existsSync } from 'node:fs';
import path from 'node:path';

/** E.g. `:0`. Undefined outside of a desktop, and where displays have no names. */
export function displayName({ DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv): string | undefined {
  return process.platform === 'linux' ? WAYLAND_DISPLAY || DISPLAY || undefined : undefined;
}

/** Whether this terminal belongs to a desktop, on which a window can open. WSL has one if it sets a display. */
export function hasDisplay(env: NodeJS.ProcessEnv): boolean {
  return process.platform !== 'linux' || displayName(env) !== undefined;
}

/** Whether a page can open for this terminal: here, by $BROWSER, or on the Windows around WSL. */
export function hasBrowser(env: NodeJS.ProcessEnv): boolean {
  return hasDisplay(env) || Boolean(env['BROWSER']) || hasWslview(env);
}

/** WSL has a browser on the other side only: this command opens it there, without a display here. */
export function hasWslview({ PATH = '' }: NodeJS.ProcessEnv): boolean {
  const places = PATH.split(path.delimiter).map((folder) => path.join(folder, 'wslview'));
  return places.some((file) => path.isAbsolute(file) && existsSync(file));
}
