/**
 * Fills a file that is replaced whole and the settings until the system refuses more, and says on stdout what became of
 * them. Argument: the file.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { SettingsBook } from '../../../src/daemon/settings/settings-book.ts';
import { homePaths } from '../../../src/base/paths.ts';
import { replaceFile } from '../../../src/base/private-file.ts';

const whole = process.argv[2] ?? '';

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

const replaced = [await told(replaceFile(whole, 'old')), await told(replaceFile(whole, 'x'.repeat(tooLong)))];
const stands = readFileSync(whole, 'utf8');
const home = homePaths({ KEYTURN_HOME: path.dirname(whole) });
mkdirSync(home.config, { recursive: true, mode: 0o700 });
const book = new SettingsBook({ paths: home, env: {}, isNewHome: false, autoStarted: true });
const set = (browser: string): Promise<void> => (async () => void book.set('browser', browser))();
const settings = [await told(set('firefox')), await told(set('x'.repeat(tooLong))), book.current.browser];
process.stdout.write(JSON.stringify({ replaced, stands, settings }));
