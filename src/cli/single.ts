/**
 * The program as one executable file: command, broker and their child processes. The first word says which it is.
 *
 * Invariant: the words of child processes are Keyturn's own and in no help.
 */
import { childWord } from '../base/system/child.ts';
import { main } from './main.ts';
import { guardOutput } from './terminal/output.ts';

async function run(word: string | undefined, args: string[]): Promise<void> {
  if (word === childWord('keychain-worker')) await import('../vault/keychain/keychain-worker.ts');
  else if (word === childWord('proxy-worker')) await import('../proxy/proxy-worker.ts');
  else {
    guardOutput();
    process.exitCode = await main(word, args);
  }
}

const [word, ...args] = process.argv.slice(2);
void run(word, args);
