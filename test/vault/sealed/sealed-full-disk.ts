/** Fills a folder of sealed files until the system refuses more, and reports the result on stdout. Argument: folder. */
import { reasonOf } from '../../../src/base/errors.ts';
import { memoryStore } from '../../../src/vault/memory.ts';
import { ItemVault } from '../../../src/vault/item-vault.ts';
import { besideKeychain } from '../../../src/vault/sealed/beside-keychain.ts';
import { ItemFolder } from '../../../src/vault/sealed/item-folder.ts';

/** Characters: beyond what the limit (100 blocks of 1,024 bytes) leaves. */
const tooLong = 200_000;

const refusalOf = (work: Promise<unknown>) => work.then(() => 'no refusal', reasonOf);

const keychain = { ...memoryStore(), close: async () => undefined };
const folder = process.argv[2] ?? '';

function open(): ItemVault {
  const store = besideKeychain(keychain, new ItemFolder(folder));
  return new ItemVault({ kind: 'sealed-file', store, homeId: 'home', hadRoot: async () => true });
}

const first = open();
await first.set('small', 'kept');
const refusals = [
  await refusalOf(first.set('large', 'x'.repeat(tooLong))),
  await refusalOf(first.set('small', 'y'.repeat(tooLong))),
];
const large = (await refusalOf(first.get('large'))) === 'vault_unreadable' ? 'absent' : 'there';
const small = await first.get('small');
await first.set('later', 'fits');
const later = await first.get('later');
await first.close();
const again = open();
const reopened = `${await again.get('small')} ${await again.get('later')}`;
await again.close();
process.stdout.write(JSON.stringify({ refusals, large, small, later, reopened }));
