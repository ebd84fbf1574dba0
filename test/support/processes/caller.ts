/**
 * A local program that asks for a token again and again, for a test to run several of:
 *
 *     node caller.ts LIBRARY NAME RESOURCE CALLS PAUSE
 *
 * Exits 0 only if every call was answered with a token that was alive when it was asked for; prints how many
 * different ones.
 * PAUSE in milliseconds: the tokens expire by the wall clock, so this runs on it.
 */
import { setTimeout as sleep } from 'node:timers/promises';

const [library = '', name = '', resource = '', calls = '', pause = ''] = process.argv.slice(2);
const { connect } = (await import(library)) as typeof import('../../../src/client/index.ts');

const connection = await connect({ name });
const seen = new Set<string>();
for (let call = 0; call < Number(calls); call += 1) {
  const asked = Date.now();
  const token = await connection.getToken({ resource, interaction: 'never' });
  // By the moment of the question: the answer of a busy machine may have waited longer than the token had to live.
  if ((token.expires_at ?? 0) * 1000 + 999 < asked) throw new Error(`call ${call} got a token that is over`);
  seen.add(token.tokenId);
  await sleep(Number(pause));
}
connection.close();
process.stdout.write(`${seen.size}\n`);
