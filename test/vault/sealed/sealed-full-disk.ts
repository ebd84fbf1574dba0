/** Fills a sealed file until the system refuses more, and reports the result on stdout. Argument: file. */
import { memoryVault } from '../../../src/vault/memory.ts';
import { sealedFileVault } from '../../../src/vault/sealed/sealed-file.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';

/** Characters: beyond what the limit (100 blocks of 1,024 bytes) leaves. */
const tooLong = 200_000;

async function reasonOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'no refusal',
    (error: unknown) => (error instanceof Error && 'reason' in error ? error.reason : String(error)),
  );
}

const vault: Vault = memoryVault();
vault.close = async () => undefined;
const file = process.argv[2] ?? '';
const first = sealedFileVault({ file, key: { kind: 'keychain', vault } });
await first.write('small', 'kept');
const refusals = [
  await reasonOf(first.write('large', 'x'.repeat(tooLong))),
  await reasonOf(first.write('small', 'y'.repeat(tooLong))),
];
const large = (await first.find('large')) ?? 'absent';
const small = await first.read('small');
await first.write('later', 'fits');
const later = await first.read('later');
await first.close();
const again = sealedFileVault({ file, key: { kind: 'keychain', vault } });
const reopened = `${await again.read('small')} ${await again.read('later')}`;
await again.close();
process.stdout.write(JSON.stringify({ refusals, large, small, later, reopened }));
