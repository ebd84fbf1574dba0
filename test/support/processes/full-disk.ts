/** Replaces the file of its argument until the system refuses more, and says on stdout what became of it. */
import { readFileSync } from 'node:fs';
import { replaceFile } from '../../../src/base/private/private-file.ts';

const whole = process.argv[2] ?? '';

/** Characters: beyond what the limit (100 blocks of 1,024 bytes) leaves. */
const tooLong = 200_000;

async function told(work: Promise<void>): Promise<string> {
  return work.then(
    () => 'kept',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

const replaced = [await told(replaceFile(whole, 'old')), await told(replaceFile(whole, 'x'.repeat(tooLong)))];
const stands = readFileSync(whole, 'utf8');
process.stdout.write(JSON.stringify({ replaced, stands }));
