/** The memory vault keeps the contract, and forgets. */
import { expect, test } from 'vitest';
import { memoryVault } from '../../src/vault/memory.ts';
import { openVault } from '../../src/vault/open.ts';
import { vaultContract } from './contract.ts';

vaultContract('memory', memoryVault);

test('two memory vaults share nothing', async () => {
  const [first, second] = [memoryVault(), openVault('memory', { service: 'unused' }).vault];
  await first.write('grant', 'mine');
  expect(await second.find('grant')).toBeUndefined();
});
