/**
 * A process that allows and ends permissions in a home until it is killed, over a folder of sealed files as its vault.
 * Arguments: folder, number of its first step. Says each step on a line of stdout once it was answered.
 */
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import path from 'node:path';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { openVault } from '../../../src/vault/open.ts';
import { startOn } from '../homes/authority-home.ts';

export const passphrase = 'correct horse';
export const program = 'editor';

export const endpointOf = (n: number): string => `https://s${n % 4}.example/mcp`;

/** Step `n` allows, refuses or ends; the same wherever it is asked, so that the survivor knows what to expect. */
export function decisionOf(n: number): 'allow' | 'deny' | 'ended' {
  const decisions = ['allow', 'deny', 'ended', 'allow', 'ended'] as const;
  return decisions[n % decisions.length] ?? 'allow';
}

export async function vaultIn(folder: string): Promise<Vault> {
  const sealed = { folder: path.join(folder, 'items'), key: 'passphrase' } as const;
  const options = { service: 'unused', homeId: 'home', hadRoot: async () => false, sealed };
  const lockable = openVault('sealed-file', options);
  await lockable.unlock(0, passphrase);
  return lockable.vault;
}

async function write(folder: string, from: number): Promise<never> {
  // By itself Node writes what it compiled to its cache when the process ends, and a killed one never does.
  flushCompileCache();
  const { permissions } = await startOn(folder, await vaultIn(folder));
  for (let n = from; ; n++) {
    const [endpoint, decision] = [endpointOf(n), decisionOf(n)];
    if (decision === 'ended') await permissions.end(program, endpoint);
    else await permissions.set({ appId: program, endpoint, decision, createdAt: n });
    writeSync(1, `${n}\n`);
  }
}

const [, script, folder, from] = process.argv;
if (script === import.meta.filename && folder) await write(folder, Number(from));
