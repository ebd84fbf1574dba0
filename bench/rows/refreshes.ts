/**
 * A thousand grants that need a refresh at once, each kept durably before anybody gets its token, beside curl, which sends the
 * same requests to the same server and keeps nothing. Both have fifty under way.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSmoke } from '../form.ts';
import { askForEach, briefLife, type RefreshHome, serverTime } from '../refresh-home.ts';
import { inTurn, type Measurement } from '../row.ts';
import { many } from './crowd.ts';

/** Requests under way at once: what curl has without being told. */
const underWay = 50;

export const refreshes: Measurement = {
  name: 'refreshes-1000',
  async measure({ refreshHome: open }) {
    const [count, turns] = isSmoke ? [4, 1] : [1000, 3];
    const refreshHome = await open(count, briefLife);
    try {
      const { resources, connection } = refreshHome;
      const connections = await many(Math.min(count, underWay), connection);
      const curl = curlFor(refreshHome);
      // The first one compares each grant with the vault, once in the broker's life.
      await askForEach(connections, resources);
      const before = await refreshHome.refreshes();
      let ofCurl = 0;
      const figures = await inTurn(turns, {
        ours: async () => {
          await sleep(briefLife * 1000);
          return timeOf(async () => askForEach(connections, resources));
        },
        curl: async () => {
          if (!curl) return Number.NaN;
          ofCurl += count;
          return timeOf(curl);
        },
      });
      const made = (await refreshHome.refreshes()) - before - ofCurl;
      for (const each of connections) each.close();
      return {
        name: 'refreshes-1000',
        what: `${count} durable refreshes at a server that takes ${serverTime} ms, ${underWay} under way (refreshes: ${made} in ${turns} turns)`,
        unit: 'ms',
        ...figures,
        goals: [{ of: 'curl', atMost: 1.1 }],
      };
    } finally {
      await refreshHome.close();
    }
  },
};

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

/** Sends as many refreshes as the broker does. Undefined where the machine lacks curl. */
function curlFor({ home, issuer, ca, resources }: RefreshHome): (() => Promise<void>) | undefined {
  if (spawnSync('curl', ['--version'], { stdio: 'ignore' }).status !== 0) return undefined;
  const file = (name: string): string => path.join(home.folder, `curl-${name}`);
  writeFileSync(file('ca'), ca);
  const form = (resource: string): string =>
    new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: 'x'.repeat(400),
      client_id: 'bench',
      resource,
    }).toString();
  const each = resources.map((resource) =>
    [
      `url = "${issuer}/token"`,
      `data = "${form(resource)}"`,
      `cacert = "${file('ca')}"`,
      'output = "/dev/null"',
    ].join('\n'),
  );
  writeFileSync(file('requests'), each.join('\nnext\n'));
  const words = ['--no-progress-meter', '--parallel', '--parallel-max', String(underWay)];
  return async () => {
    const all = [...words, '--config', file('requests')];
    const child = spawn('curl', all, { stdio: ['ignore', 'ignore', 'inherit'] });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`curl ended with ${String(code)}`);
  };
}
