/** The shutdown of a daemon completes, whatever fails on the way. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Shutdown } from '../../src/daemon/shutdown.ts';
import type { SignIn } from '../../src/broker/records/sign-in.ts';
import { after, type After } from '../../src/ipc/wire/timer.ts';
import { nowhere } from '../broker/nowhere.ts';
import { brokerRig } from '../broker/rig.ts';

const steps = ['quiet', 'end', 'refreshes', 'socket', 'audit', 'refreshes', 'close', 'unlock'];

/** A shutdown that records its steps, and then fails those in `fails`. `refused`: what the vault refuses, by call. */
async function endingThat(
  fails: readonly string[],
  refused: readonly (readonly SignIn[])[] = [],
  timer = after,
) {
  const { broker } = await brokerRig(nowhere);
  const taken: string[] = [];
  const lines: string[] = [];
  const take = (step: string): void => {
    taken.push(step);
    if (fails.includes(step)) throw new Error('aSecret-0815');
  };
  const step = (name: string) => async (): Promise<void> => take(name);
  const left = [...refused];
  vi.spyOn(broker, 'end').mockImplementation(step('end'));
  vi.spyOn(broker.parts.audit, 'flush').mockImplementation(step('audit'));
  vi.spyOn(broker.parts.refresher, 'settled').mockImplementation(async () => {
    take('refreshes');
    return left.shift() ?? [];
  });
  const shutdown = new Shutdown({
    broker,
    closeSocket: step('socket'),
    stopTimers: () => take('quiet'),
    close: step('close'),
    unlock: () => take('unlock'),
    log: (line) => void lines.push(line),
    after: timer,
  });
  onTestFinished(() => void vi.restoreAllMocks());
  return { shutdown, taken, lines };
}

describe('a shutdown', () => {
  it.each([...[...new Set(steps)].map((step) => [step, [step]] as const), ['every step', steps] as const])(
    'goes on to the last step if this fails: %s',
    async (_what, fails) => {
      const { shutdown, taken, lines } = await endingThat(fails);
      await shutdown.finish();
      await shutdown.stopped;
      expect(taken).toEqual(steps);
      expect(lines.filter((line) => line.includes('could not be brought to an end'))).toHaveLength(
        steps.filter((step) => fails.includes(step)).length,
      );
      expect(lines.join()).not.toContain('aSecret-0815');
    },
  );

  it.each([
    ['waits for a token that the vault refuses at first', 2, 0],
    ['names a token that the vault refuses for ten seconds', 1000, 1],
  ])('a shutdown %s', async (_what, refusals, lost) => {
    const signIn = { endpoints: ['https://notes.example/mcp'] } as SignIn;
    const waits: number[] = [];
    // The short waits are over at once; the long one after a hundred of them.
    const timer: After = (ms, run) => {
      waits.push(ms);
      if (ms < 1000 || waits.length > 100) setImmediate(run);
      else lateRuns.push(run);
      if (waits.length > 100) for (const late of lateRuns) late();
      return () => undefined;
    };
    const lateRuns: (() => void)[] = [];
    const refused = Array.from({ length: refusals }, () => [signIn]);
    const { shutdown, lines } = await endingThat([], refused, timer);
    await shutdown.drain();
    const named = lines.filter((line) => line.includes('keyturn login https://notes.example/mcp'));
    expect(named).toHaveLength(lost);
    expect(waits).toContain(10_000);
  });
});
