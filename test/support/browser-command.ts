/**
 * Commands for KEYTURN_BROWSER: what a process opens in place of a person's browser.
 *
 * Invariant: a command works in any environment: it names its own Node and its own authorities, since
 * a broker that starts by itself hands on neither PATH nor NODE_EXTRA_CA_CERTS.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** `redirect-agent` follows redirects and clicks nothing; `chromium-agent` is a real browser that clicks. */
export type BrowserAgent = 'redirect-agent' | 'chromium-agent';

/** Words parted by single spaces, as KEYTURN_BROWSER takes them; the URL is appended by who opens it. */
export function browserCommand(agent: BrowserAgent, caFile: string, ...flags: readonly string[]): string {
  const script = path.join(import.meta.dirname, `${agent}.ts`);
  return ['env', `KEYTURN_DEMO_CA=${caFile}`, process.execPath, script, ...flags].join(' ');
}

/** Milliseconds between two looks at the process table: nothing tells when a foreign process ends. */
const lookEvery = 20;

/**
 * Waits until no browser of these authorities runs. A broker starts a browser detached, and nobody
 * else would see that it has gone before the test is over. At once where there is no process table.
 */
export async function browsersEnded(caFile: string): Promise<void> {
  while (browsersOf(caFile).length > 0) await sleep(lookEvery);
}

function browsersOf(caFile: string): string[] {
  if (process.platform !== 'linux') return [];
  const mark = `KEYTURN_DEMO_CA=${caFile}`;
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && environment(name).includes(mark));
}

/** Empty for a process that is gone, is a zombie, or is another user's. */
function environment(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
