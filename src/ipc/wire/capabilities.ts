/**
 * What a broker says of itself in the handshake.
 *
 * Invariant: no access depends on it: only what an app shows and offers, and whether the broker is that of the app's own
 * home.
 */
import { createHash } from 'node:crypto';
import type { HomePaths } from '../../base/paths.ts';
import { lookAt } from '../../base/private/private-folder.ts';

/** A capability: has neither the comma nor the line feed that the transcript joins with. */
export const capabilityPattern = /^[a-z0-9.-]{1,32}$/;

const versionPrefix = 'version-';

/** The capability by which a broker tells its release; none for one that can't be written so. */
export function versionCapability(version: string): string[] {
  const capability = `${versionPrefix}${version}`;
  return capabilityPattern.test(capability) ? [capability] : [];
}

/** The release that a broker's capabilities name. For display: nothing is decided by it. */
export function versionIn(capabilities: readonly string[]): string | undefined {
  return capabilities.find((item) => item.startsWith(versionPrefix))?.slice(versionPrefix.length);
}

const homePrefix = 'home-';

/**
 * The capability by which a broker tells which state folder is its own: a copy of a home has the same keys, and names
 * the same socket. None if the folder isn't there, and on Windows, where the pipe depends on the folders.
 */
export function homeCapability({ state }: Pick<HomePaths, 'state'>): string[] {
  if (process.platform === 'win32') return [];
  try {
    const found = lookAt(state);
    if (!found) return [];
    const mark = createHash('sha256').update(`${found.dev}:${found.ino}`).digest('hex').slice(0, 16);
    return [`${homePrefix}${mark}`];
  } catch {
    return [];
  }
}

/** True if the broker of these capabilities has another home than this one; false if either doesn't tell. */
export function isOtherHome(capabilities: readonly string[], home: readonly string[]): boolean {
  const told = capabilities.find((item) => item.startsWith(homePrefix));
  return told !== undefined && home.length > 0 && !home.includes(told);
}

/** The broker's capability that says: a user sits at it, and is asked before anything is widened. */
export const appCapability = 'keyturn-app';
