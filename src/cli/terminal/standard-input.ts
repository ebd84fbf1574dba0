/**
 * What a command reads on standard input, whole.
 *
 * Invariant: no character is lost. A text decoder would drop a byte order mark at the beginning, and with it a part
 * of a passphrase.
 */
import { buffer } from 'node:stream/consumers';

export async function readStandardInput(): Promise<string> {
  return (await buffer(process.stdin)).toString('utf8');
}
