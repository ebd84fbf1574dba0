/**
 * Fills a record log, a file that is replaced whole and the settings until the system refuses more, and says on
 * stdout what became of them. Argument: the log's file.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { RecordLog } from '../../../src/store/record-log.ts';
import { SettingsBook } from '../../../src/daemon/settings/settings-book.ts';
import { homePaths } from '../../../src/base/paths.ts';
import { replaceFile } from '../../../src/base/private-file.ts';

const schema = z.object({ id: z.string(), text: z.string() });
const log = new RecordLog(process.argv[2] ?? '', schema);

/** Characters: beyond what the limit (100 blocks of 1,024 bytes) leaves. */
const tooLong = 200_000;

// The kernel signals what is too large. A package that the settings use would end the process then.
process.removeAllListeners('SIGXFSZ').on('SIGXFSZ', () => undefined);

async function told(work: Promise<void>): Promise<string> {
  return work.then(
    () => 'kept',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

const outcome = (id: string, length: number): Promise<string> =>
  told(log.put({ id, text: 'x'.repeat(length) }));

await log.load();
const outcomes = [
  await outcome('small', 10),
  ...(await Promise.all([outcome('large', tooLong), outcome('beside', 10)])),
  await outcome('small', tooLong),
];
const memory = log.items.map(({ id, text }) => `${id} ${text.length}`);
const later = await outcome('later', 10);
const again = new RecordLog(process.argv[2] ?? '', schema);
await again.load();
const disk = again.items.map(({ id, text }) => `${id} ${text.length}`);
const whole = `${log.path}.whole`;
const replaced = [await told(replaceFile(whole, 'old')), await told(replaceFile(whole, 'x'.repeat(tooLong)))];
const stands = readFileSync(whole, 'utf8');
const home = homePaths({ KEYTURN_HOME: path.dirname(log.path) });
mkdirSync(home.config, { recursive: true, mode: 0o700 });
const book = new SettingsBook({ paths: home, env: {}, isNewHome: false, autoStarted: true });
const set = (browser: string): Promise<void> => (async () => void book.set('browser', browser))();
const settings = [await told(set('firefox')), await told(set('x'.repeat(tooLong))), book.current.browser];
process.stdout.write(JSON.stringify({ outcomes, memory, later, disk, replaced, stands, settings }));
