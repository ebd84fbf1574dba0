/** Loads keytar. An executable of one file brings its native part along, and loads that (scripts/packaging/single.ts). */

/** The part of keytar that we use. Its own types may be missing at compile time, since keytar is optional. */
export interface Keytar {
  getPassword(service: string, account: string): Promise<string | null>;
  setPassword(service: string, account: string, password: string): Promise<void>;
  deletePassword(service: string, account: string): Promise<boolean>;
}

export async function loadKeytar(): Promise<Keytar> {
  // A variable, so that the compiler doesn't look for a module that may not be installed.
  const name: string = 'keytar';
  const loaded = (await import(name)) as { readonly default: Keytar };
  return loaded.default;
}
