/** The ports of all proxies follow the list, however quickly one list comes after the other. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KeyturnError } from '../../src/base/errors.ts';
import { after } from '../../src/ipc/wire/timer.ts';
import type { ProxyEntry } from '../../src/proxy/messages.ts';
import { Ports } from '../../src/proxy/ports.ts';
import { Programs } from '../../src/proxy/programs.ts';
import { freePort } from '../support/servers/port.ts';
import { lines, sendBytes, verdict } from './port-rig.ts';

/** A broker that knows nobody: who reaches it passed the checks of the port. */
function newPorts() {
  const programs = new Programs({
    after,
    admit: async () => {
      throw new KeyturnError('consent_denied', 'nobody is known');
    },
  });
  const reports: string[] = [];
  const waiting: (() => void)[] = [];
  const ports = new Ports({
    programs,
    report: (entry, state) => {
      reports.push(`${entry} ${state}`);
      for (const resolve of waiting.splice(0)) resolve();
    },
  });
  onTestFinished(() => ports.serve([]));
  const reported = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
  return { ports, reports, reported };
}

async function entryAt(port: number | undefined, letter: string): Promise<ProxyEntry> {
  return { id: 'e', port: port ?? (await freePort()), path: letter.repeat(32) };
}

async function statusAt({ port, path }: ProxyEntry): Promise<number> {
  const headers = [`Host: 127.0.0.1:${port}`];
  return verdict(await sendBytes(port, lines({ target: `/${path}/mcp`, headers }))).status;
}

describe('the process of the proxies', () => {
  it('serves only the new path if the path changes while the port is being opened', async () => {
    const { ports, reports, reported } = newPorts();
    const before = await entryAt(undefined, 'a');
    const rotated = await entryAt(before.port, 'b');
    const done = reported();
    ports.serve([before]);
    ports.serve([rotated]);
    await done;
    expect(reports).toEqual(['e open']);
    expect([await statusAt(before), await statusAt(rotated)]).toEqual([404, 403]);
  });

  it.each([0, 1, 2])(
    'forgets an entry that is replaced %i ticks after it tried a taken port',
    async (ticks) => {
      const { ports, reports, reported } = newPorts();
      const squatter = createServer().listen(0, '127.0.0.1');
      onTestFinished(() => void squatter.close());
      await once(squatter, 'listening');
      const address = squatter.address();
      const taken = address !== null && typeof address === 'object' ? address.port : 0;
      const before = await entryAt(taken, 'a');
      const moved = await entryAt(undefined, 'b');
      ports.serve([before]);
      for (let left = ticks; left > 0; left -= 1)
        await new Promise<void>((resolve) => process.nextTick(resolve));
      reports.length = 0;
      const done = reported();
      ports.serve([moved]);
      await done;
      ports.retry();
      const again = reported();
      ports.serve([moved, { ...moved, id: 'f', port: await freePort() }]);
      await again;
      expect(reports).toEqual(['e open', 'f open']);
    },
  );
});
