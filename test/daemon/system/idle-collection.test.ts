import { runInNewContext } from 'node:vm';
import { expect, test, vi } from 'vitest';
import { idleCollection, loadTrim, processParts } from '../../../src/daemon/system/idle-collection.ts';

/** A process whose figures the test sets. */
function process() {
  const figures = { used: 0, held: 20, collections: 0 };
  const look = idleCollection({
    used: () => figures.used,
    held: () => figures.held,
    collect: () => {
      figures.collections += 1;
      figures.held = 24;
      figures.used += 60;
    },
  });
  return { figures, look };
}

test('collects once when the broker is idle and its heap has grown by half', () => {
  const { figures, look } = process();
  figures.held = 30;
  look();
  look();
  expect(figures).toMatchObject({ collections: 1, held: 24 });
});

test('collects nothing while the broker works, and does so once it is idle', () => {
  const { figures, look } = process();
  figures.held = 90;
  for (const work of [500, 101]) {
    figures.used += work;
    look();
    expect(figures.collections).toBe(0);
  }
  figures.used += 100;
  look();
  expect(figures.collections).toBe(1);
});

test('the collector of this process gives memory back, and is hidden again afterwards', async () => {
  const trim = await loadTrim();
  const trimmed = vi.fn(trim ?? (() => 0));
  const parts = processParts(trimmed);
  let garbage: unknown[] | undefined = Array.from({ length: 1_000_000 }, (_, number) => ({ number }));
  const before = parts?.held() ?? 0;
  expect(garbage).toHaveLength(1_000_000);
  garbage = undefined;
  parts?.collect();
  expect(before - (parts?.held() ?? 0)).toBeGreaterThan(20_000_000);
  // What the C library answers: 1 if there was anything to give back.
  expect([0, 1]).toContain(trimmed.mock.results[0]?.value);
  expect(runInNewContext('typeof gc')).toBe('undefined');
});
