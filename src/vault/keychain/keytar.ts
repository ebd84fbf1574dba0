/**
 * Loads keytar. An executable of one file brings its native part along, and loads that (scripts/packaging/single.ts).
 * On Windows keytar's native part exists only where somebody compiled it: elsewhere the system's own calls do the same.
 */
import { type CredentialManager, loadCredentialManager } from '../../base/windows/credentials.ts';

/** The part of keytar that we use. Its own types may be missing at compile time, since keytar is optional. */
export type Keytar = CredentialManager;

export async function loadKeytar(platform = process.platform): Promise<Keytar> {
  try {
    return await compiledKeytar();
  } catch (error) {
    if (platform === 'win32') return loadCredentialManager();
    throw error;
  }
}

async function compiledKeytar(): Promise<Keytar> {
  // A variable, so that the compiler doesn't look for a module that may not be installed.
  const name: string = 'keytar';
  const loaded = (await import(name)) as { readonly default: Keytar };
  return loaded.default;
}
