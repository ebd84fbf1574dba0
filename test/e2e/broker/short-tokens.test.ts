/** Clients that stay while tokens of 5 seconds come and go. `npm run test:soak` runs the long form: two minutes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { homeInWorld } from '../../support/home.ts';
import { ForeignClients, type Outcome } from '../../support/processes/foreign-client.ts';
import { paired } from '../../support/processes/program.ts';
import { told } from '../../support/secrets.ts';
import { workshop } from '../../support/servers/workshop.ts';
import { report } from '../../soak/report.ts';

const isSoak = process.env['KEYTURN_SOAK'] === '1';

/** Seconds. */
const lifetime = 5;

/** How many tokens are outlived: two minutes of them, or as many as show that one does not end a session. */
const renewals = isSoak ? 120 / lifetime : 2;

/** Milliseconds between two rounds of calls: room for other tests, which the soak doesn't need. */
const pause = isSoak ? 0 : 250;

/** Milliseconds that a busy machine may need beside what the test itself takes. */
const margin = 300_000;

it(
  'DOOR-5: every call is answered once while one token after another expires',
  { timeout: margin },
  async () => {
    const service = workshop();
    const { home, world, resource } = await homeInWorld({
      issuing: { service, accessTokenLifetime: lifetime },
    });
    onTestFinished(() => service.forget());
    const clients = new ForeignClients(home, resource);
    onTestFinished(() => clients.close());
    const counts = (): { refreshes: number; signIns: number } => world.counts().authorizationServer;

    await home.ok(['sign-in', 'list']);
    const lived = ['sdk-2', 'ai-sdk'] as const;
    for (const name of lived) {
      await paired(home, name);
      await home.ok(['app', 'allow', name, resource]);
    }
    let calls = 0;
    await Promise.all(
      lived.map(async (name) => {
        const client = await clients.start(name);
        for (let round = 0; counts().refreshes < renewals; round += 1) {
          const keys = Array.from({ length: 5 }, (_, n) => `${name} ${round}.${n}`);
          const outcomes = await client.ask<Outcome[]>('calls', keys, 1);
          expect(outcomes.filter(({ key, text }) => text !== key || service.ran(key) !== 1)).toEqual([]);
          calls += keys.length;
          await sleep(pause);
        }
        clients.search();
        await client.close();
      }),
    );
    expect(counts().signIns).toBe(1);
    expect(told(clients.found().findings)).toBe('');
    report('short-tokens', { calls, refreshes: counts().refreshes, doubled: service.doubled });
  },
);
