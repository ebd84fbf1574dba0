/**
 * Commands for KEYTURN_BROWSER: what a process opens in place of a person's browser.
 *
 * Invariant: a command works in any environment: it names its own Node and its own authorities, since
 * a broker that starts by itself hands on neither PATH nor NODE_EXTRA_CA_CERTS.
 */
import path from 'node:path';
import { compileCacheWords } from '../processes/compiled.ts';
import { noneRunsWith } from '../processes/process-table.ts';

/** `chromium-agent` is a real browser that clicks; `telling-browser` writes down what it was started with. */
export type BrowserAgent = 'chromium-agent' | 'telling-browser';

/** Files of those that a command was made for. Without a command no browser runs, and a look at all processes takes 5 ms. */
const authorities = new Set<string>();

/** Words parted by single spaces, as KEYTURN_BROWSER takes them; the URL is appended by who opens it. */
export function browserCommand(agent: BrowserAgent, caFile: string, ...flags: readonly string[]): string {
  authorities.add(caFile);
  const script = path.join(import.meta.dirname, `${agent}.ts`);
  const variables = [`KEYTURN_DEMO_CA=${caFile}`, ...compileCacheWords()];
  return ['env', ...variables, process.execPath, script, ...flags].join(' ');
}

/**
 * Waits until no browser of these authorities runs. A broker starts a browser detached, and nobody
 * else would see that it has gone before the test is over. At once where there is no process table.
 */
export async function browsersEnded(caFile: string): Promise<void> {
  if (authorities.has(caFile)) await noneRunsWith(`KEYTURN_DEMO_CA=${caFile}`);
}
