/**
 * Where the app's own files lie: the built page, preload, and the icons.
 *
 * Invariant: found from this file's own place, the same in the source tree, in dist/ and in the package;
 * never from the working folder or the environment.
 */
import path from 'node:path';
import type { TrayShape } from './summary.ts';

/** From the source tree: electron/base/. Built: dist/app/electron/base/. */
const isBuilt = import.meta.filename.endsWith('.js');
const root = path.join(import.meta.dirname, ...(isBuilt ? ['..', '..', '..', '..'] : ['..', '..']));

/** The folder that vite writes. */
export const pageFolder = path.join(root, 'dist', 'renderer');

export const preloadFile = path.join(root, 'dist', 'app', 'electron', 'preload.cjs');

/** Of our windows, where no desktop file gives them one: an AppImage, a clone. */
export const windowIcon = path.join(root, 'assets', 'icons', '256x256.png');

/** `light`: for a light panel, so it is black. macOS takes any name that ends in Template as a mask. */
export function trayIcon(shape: TrayShape, theme: 'light' | 'dark'): string {
  return path.join(root, 'assets', 'tray', `${shape}${theme === 'light' ? 'Template' : 'White'}.png`);
}
