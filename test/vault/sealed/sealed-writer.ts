/**
 * A process that writes to a sealed file until it is killed. Arguments: file, number of its first step.
 * Says each step on a line of stdout once the vault has acknowledged it.
 */
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { sealedFileVault } from '../../../src/vault/sealed/sealed-file.ts';

export const passphrase = 'correct horse';

export interface Step {
  readonly id: string;
  /** Undefined: the id is removed. */
  readonly secret: string | undefined;
}

/** What step `n` does: the same in every process, so that the test knows what to expect. */
export function step(n: number): Step {
  const id = `grant.${n % 8}`;
  // Of all sizes, so that files are rewritten several times a second, too.
  return { id, secret: n % 11 === 0 ? undefined : `${n} ${'x'.repeat((n * 7919) % 6000)}` };
}

async function write(file: string, from: number): Promise<never> {
  // By itself Node writes what it compiled to its cache when the process ends, and a killed one never does.
  flushCompileCache();
  const vault = sealedFileVault({ file, key: { kind: 'passphrase', cost: { N: 2 ** 14, r: 8, p: 1 } } });
  await vault.unlock(passphrase);
  for (let n = from; ; n++) {
    const { id, secret } = step(n);
    await (secret === undefined ? vault.remove(id) : vault.write(id, secret));
    writeSync(1, `${n}\n`);
  }
}

const [, script, file, from] = process.argv;
if (script === import.meta.filename && file) await write(file, Number(from));
