/** The memory vault keeps the contract, and forgets. */
import { expect, test } from 'vitest';
import { memoryVault } from '../../src/vault/memory.ts';
import { getIfAny } from '../../src/vault/base/vault.ts';
import { openVault } from '../../src/vault/open.ts';
import { vaultContract } from './contract.ts';
import { fresh } from './doubles.ts';

vaultContract('memory', () => memoryVault());

test('two memory vaults share nothing', async () => {
  const [first, second] = [memoryVault(), openVault('memory', { service: 'unused', ...fresh }).vault];
  await first.set('grant', 'mine');
  expect(await getIfAny(second, 'grant')).toBeUndefined();
  expect((await first.root()).equals(await second.root())).toBe(false);
});
