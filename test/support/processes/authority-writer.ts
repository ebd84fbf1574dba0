/**
 * A process that allows and ends permissions in a home until it is killed, over a sealed file as its vault.
 * Arguments: folder, number of its first step. Says each step on a line of stdout once it was answered.
 */
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import path from 'node:path';
import { sealedFileVault } from '../../../src/vault/sealed/sealed-file.ts';
import type { SealedFileVault } from '../../../src/vault/sealed/sealed-file.ts';
import { startOn } from '../homes/authority-home.ts';

export const passphrase = 'correct horse';
export const program = 'editor';

export const endpointOf = (n: number): string => `https://s${n % 4}.example/mcp`;

/** Step `n` allows, refuses or ends; the same wherever it is asked, so that the survivor knows what to expect. */
export function decisionOf(n: number): 'allow' | 'deny' | 'ended' {
  const decisions = ['allow', 'deny', 'ended', 'allow', 'ended'] as const;
  return decisions[n % decisions.length] ?? 'allow';
}

export async function vaultIn(folder: string): Promise<SealedFileVault> {
  const cost = { N: 2 ** 14, r: 8, p: 1 };
  const vault = sealedFileVault({
    file: path.join(folder, 'vault.sealed'),
    key: { kind: 'passphrase', cost },
  });
  await vault.unlock(passphrase);
  return vault;
}

async function write(folder: string, from: number): Promise<never> {
  // By itself Node writes what it compiled to its cache when the process ends, and a killed one never does.
  flushCompileCache();
  const { permissions } = await startOn(folder, await vaultIn(folder));
  for (let n = from; ; n++) {
    const [endpoint, decision] = [endpointOf(n), decisionOf(n)];
    if (decision === 'ended') await permissions.end(program, endpoint);
    else await permissions.set({ clientId: program, endpoint, decision, createdAt: n });
    writeSync(1, `${n}\n`);
  }
}

const [, script, folder, from] = process.argv;
if (script === import.meta.filename && folder) await write(folder, Number(from));
