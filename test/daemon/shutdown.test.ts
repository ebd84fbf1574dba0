/** The shutdown of a daemon completes, whatever fails on the way. */
import { describe, expect, it, vi } from 'vitest';
import { Shutdown } from '../../src/daemon/shutdown.ts';
import { after } from '../../src/ipc/wire/timer.ts';
import { brokerRig } from '../broker/rig.ts';

/** Nothing here is fetched, and no page is opened. */
const nowhere = {
  endpoint: 'https://notes.example/mcp',
  fetch: () => Promise.reject(new Error('nothing is fetched here')),
  visit: () => Promise.reject(new Error('no page is opened here')),
};

const steps = ['quiet', 'end', 'socket', 'audit', 'refreshes', 'close', 'unlock'];

/** A shutdown that records its steps, and then fails those in `fails`. */
async function endingThat(fails: readonly string[]) {
  const { broker } = await brokerRig(nowhere);
  const taken: string[] = [];
  const lines: string[] = [];
  const take = (step: string): void => {
    taken.push(step);
    if (fails.includes(step)) throw new Error('aSecret-0815');
  };
  const step = (name: string) => async (): Promise<void> => take(name);
  vi.spyOn(broker, 'end').mockImplementation(step('end'));
  vi.spyOn(broker.parts.audit, 'flush').mockImplementation(step('audit'));
  vi.spyOn(broker.parts.refresher, 'settled').mockImplementation(step('refreshes'));
  const shutdown = new Shutdown({
    broker,
    server: () => ({
      endpoint: 'unix:1:1',
      path: '/run/broker.sock',
      isLost: () => false,
      listenAgain: async () => undefined,
      callers: () => [],
      closeConnectionsOf: () => undefined,
      close: step('socket'),
    }),
    stopTimers: () => take('quiet'),
    close: step('close'),
    unlock: () => take('unlock'),
    log: (line) => void lines.push(line),
    after,
  });
  return { shutdown, taken, lines, restore: () => vi.restoreAllMocks() };
}

describe('a shutdown', () => {
  it.each([...steps.map((step) => [step, [step]] as const), ['every step', steps] as const])(
    'a shutdown goes on to the last step if this fails: %s',
    async (_what, fails) => {
      const { shutdown, taken, lines, restore } = await endingThat(fails);
      try {
        await shutdown.finish();
        await shutdown.stopped;
        expect(taken).toEqual(steps);
        expect(lines.filter((line) => line.includes('could not be brought to an end'))).toHaveLength(
          fails.length,
        );
        expect(lines.join()).not.toContain('aSecret-0815');
      } finally {
        restore();
      }
    },
  );
});
