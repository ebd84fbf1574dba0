/** A temporary folder for sealed files, and vaults in it; all is closed and removed after each test. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach } from 'vitest';
import { memoryVault } from '../../../src/vault/memory.ts';
import { sealedFileVault } from '../../../src/vault/sealed/sealed-file.ts';
import type { KeySource, SealedFileVault } from '../../../src/vault/sealed/sealed-file.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** The least work that a header may ask for: 40 ms instead of a third of a second. */
const cheap = { N: 2 ** 14, r: 8, p: 1 } as const;
export const byPassphrase: KeySource = { kind: 'passphrase', cost: cheap };

const open: Vault[] = [];

afterEach(async () => {
  for (const vault of open.splice(0)) await vault.close();
});

/** A file's path in a folder of its own; the file isn't there yet. */
export function newPlace(): string {
  return path.join(temporaryFolder(), 'vault.sealed');
}

/** A vault that outlives the sealed files that it opens, as a keychain does. */
export function lastingKeychain(): Vault {
  const vault = memoryVault();
  vault.close = async () => undefined;
  return vault;
}

export function opened(file: string, key: KeySource, report?: (line: string) => void): SealedFileVault {
  const vault = sealedFileVault({ file, key, ...(report ? { report } : {}) });
  open.push(vault);
  return vault;
}

/** What a vault says of an id: the secret, "absent", or the reason of its refusal. */
export async function said(vault: Vault, id: string): Promise<string> {
  try {
    return (await vault.find(id)) ?? 'absent';
  } catch (error) {
    return error instanceof Error && 'reason' in error ? String(error.reason) : String(error);
  }
}

/** A changed copy of a sealed file, in a place of its own. */
export function changedCopy(file: string, change: (bytes: Buffer) => Buffer): string {
  const copy = newPlace();
  copyFileSync(file, copy);
  writeFileSync(copy, change(readFileSync(file)), { mode: 0o600 });
  return copy;
}
