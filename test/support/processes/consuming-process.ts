/**
 * A second process on one storage: `consuming-process.ts KIND PLACE COUNT WAY`. Opens it, says that it is ready, and at the
 * word `go` uses up the items `0` to COUNT - 1 at once,
 * from the first one `up` or from the last one `down`, so that two of them meet. Answers the ids that it was the first to use.
 */
import { postgresStorage } from '../../../src/server/storage/postgres.ts';
import { sqliteStorage } from '../../../src/server/storage/sqlite.ts';

const [, , kind = '', place = '', count = '', way = ''] = process.argv;
const storage = kind === 'SQLite' ? sqliteStorage(place) : await postgresStorage(place);
process.once('message', () => void consume());
process.send?.('ready');

async function consume(): Promise<void> {
  const upwards = Array.from({ length: Number(count) }, (_, n) => String(n));
  const ids = way === 'down' ? upwards.toReversed() : upwards;
  const used = await Promise.all(ids.map(async (id) => storage.consume('Held', id, 1)));
  await storage.close();
  process.send?.(ids.filter((_, at) => used[at]));
  process.disconnect();
}
