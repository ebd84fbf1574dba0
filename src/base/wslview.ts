/** The command by which WSL opens a page in the browser of Windows. Every cold command loads this file, and nothing else for it. */
import { existsSync } from 'node:fs';
import path from 'node:path';

/** WSL has a browser on the other side only: this opens it there, without a display here. */
export function hasWslview({ PATH = '' }: NodeJS.ProcessEnv): boolean {
  const places = PATH.split(path.delimiter).map((folder) => path.join(folder, 'wslview'));
  return places.some((file) => path.isAbsolute(file) && existsSync(file));
}
