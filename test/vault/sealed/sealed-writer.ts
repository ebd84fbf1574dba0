/**
 * A process that writes to a folder of sealed files until it is killed. Arguments: folder, number of its first step.
 * Says each step on a line of stdout once the vault has acknowledged it.
 */
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { openVault } from '../../../src/vault/open.ts';

export const passphrase = 'correct horse';

export interface Step {
  readonly id: string;
  /** Undefined: the id is removed. */
  readonly secret: string | undefined;
}

/** What step `n` does: the same in every process, so that the test knows what to expect. */
export function step(n: number): Step {
  const id = `grant.${n % 8}`;
  // Of all sizes.
  return { id, secret: n % 11 === 0 ? undefined : `${n} ${'x'.repeat((n * 7919) % 6000)}` };
}

async function write(folder: string, from: number): Promise<never> {
  // By itself Node writes what it compiled to its cache when the process ends, and a killed one never does.
  flushCompileCache();
  const place = { folder, key: 'passphrase' } as const;
  const options = { service: 'unused', homeId: 'home', hadRoot: async () => false, sealed: place };
  const lockable = openVault('sealed-file', options);
  await lockable.unlock(0, passphrase);
  const { vault } = lockable;
  for (let n = from; ; n++) {
    const { id, secret } = step(n);
    await (secret === undefined ? vault.delete(id) : vault.set(id, secret));
    writeSync(1, `${n}\n`);
  }
}

const [, script, folder, from] = process.argv;
if (script === import.meta.filename && folder) await write(folder, Number(from));
