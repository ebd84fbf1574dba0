/** One durable change of a grant's secret in the sealed file, among 10,000 and among 100, beside one bare fsync. */
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { memoryVault } from '../../src/vault/memory.ts';
import { type SealedFileVault, sealedFileVault } from '../../src/vault/sealed/sealed-file.ts';
import { isSmoke } from '../form.ts';
import { inTurn, type Measurement, timeOf } from '../row.ts';

/** Bytes in base64url: a refresh token and what is kept with it. */
const secret = (): string => randomBytes(900).toString('base64url');

export const durable: Measurement = {
  name: 'durable',
  async measure() {
    const folder = mkdtempSync(path.join(tmpdir(), 'kb-'));
    const [size, few, turns, rounds] = isSmoke ? [20, 10, 1, 5] : [10_000, 100, 9, 60];
    const bare = openSync(path.join(folder, 'bare'), 'w');
    const vaults = [await filled(folder, size), await filled(folder, few)] as const;
    try {
      const change = async (vault: SealedFileVault): Promise<number> =>
        timeOf(rounds, async () => vault.write('grant.1', secret()));
      const figures = await inTurn(turns, {
        ours: async () => change(vaults[0]),
        floor: async () =>
          timeOf(rounds, () => {
            writeSync(bare, secret());
            fsyncSync(bare);
          }),
        [`${few} grants`]: async () => change(vaults[1]),
      });
      return {
        name: 'durable',
        what: `durable change of one grant's secret among ${size} in the sealed file; floor: write and fsync`,
        unit: 'ms',
        ...figures,
        goals: [
          { of: 'floor', atMost: 5 },
          { of: `${few} grants`, atMost: 1.5 },
        ],
      };
    } finally {
      for (const vault of vaults) await vault.close();
      closeSync(bare);
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Its key lies in a vault in memory. */
async function filled(folder: string, grants: number): Promise<SealedFileVault> {
  const key = { kind: 'keychain', vault: memoryVault() } as const;
  const vault = sealedFileVault({ file: path.join(folder, `${grants}.sealed`), key });
  await Promise.all(Array.from({ length: grants }, async (_, n) => vault.write(`grant.${n}`, secret())));
  return vault;
}
