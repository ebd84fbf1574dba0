/**
 * What a measurement hands to the table.
 *
 * Invariant: a ratio is the median of pairs that were measured one after the other, never of two separate runs.
 */
import process from 'node:process';
import type { World } from './world.ts';

/** Few rounds, which only show that everything runs. */
export const isSmoke = process.argv.includes('--smoke');

export interface Row {
  readonly what: string;
  /** More is better for `/s`, less for every other one. */
  readonly unit: 'µs' | 'ms' | 'MB' | '/s';
  readonly ours: number;
  /** NaN: this machine lacks it. */
  readonly peers: Readonly<Record<string, number>>;
  /** Ours divided by the peer's, as the median of pairs. */
  readonly ratios: Readonly<Record<string, number>>;
  /** Bounds of the ratios; `itself` bounds our own figure. */
  readonly goals: Readonly<Record<string, number>>;
}

export interface Measurement {
  readonly name: string;
  /** `world`: opened by the first measurement that needs it. */
  readonly measure: (world: () => Promise<World>) => Promise<readonly Row[]>;
}

export type Verdict = 'met' | 'missed' | 'not known';

export function verdictOf({ goals, ours, ratios, unit }: Row): Verdict {
  const verdicts = Object.entries(goals).map(([of, bound]) => {
    const value = of === 'itself' ? ours : (ratios[of] ?? Number.NaN);
    if (Number.isNaN(value)) return 'not known';
    return (unit === '/s' ? value >= bound : value <= bound) ? 'met' : 'missed';
  });
  if (verdicts.includes('missed')) return 'missed';
  return verdicts.includes('not known') ? 'not known' : 'met';
}

type Contenders = Readonly<Record<string, () => Promise<number>>>;

/** Measures the contenders in turn, A B A B, so that a machine that gets slower slows them all. */
export async function inTurn(
  turns: number,
  contenders: Contenders & Readonly<Record<'ours', () => Promise<number>>>,
): Promise<Pick<Row, 'ours' | 'peers' | 'ratios'>> {
  const done: Record<string, number>[] = [];
  for (let turn = 0; turn < (isSmoke ? 1 : turns); turn += 1) {
    const figures: Record<string, number> = {};
    for (const [name, measure] of Object.entries(contenders)) figures[name] = await measure();
    done.push(figures);
  }
  const others = Object.keys(contenders).filter((name) => name !== 'ours');
  const of = (name: string): number[] => done.map((figures) => figures[name] ?? Number.NaN);
  const ours = of('ours');
  const ratiosTo = (name: string): number[] =>
    of(name).map((figure, turn) => (ours[turn] ?? Number.NaN) / figure);
  return {
    ours: percentile(ours, 0.5),
    peers: Object.fromEntries(others.map((name) => [name, percentile(of(name), 0.5)])),
    ratios: Object.fromEntries(others.map((name) => [name, percentile(ratiosTo(name), 0.5)])),
  };
}

/** The value below which this part of them is; NaN for no values. */
export function percentile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;
}

/** Milliseconds that each of so many calls takes, one after the other. The first tenth warms up. */
export async function timesOf(count: number, work: () => unknown): Promise<readonly number[]> {
  const rounds = isSmoke ? Math.min(count, 5) : count;
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const from = performance.now();
    await work();
    times.push(performance.now() - from);
  }
  return times.slice(Math.floor(rounds / 10));
}

/** The median of these, in microseconds. */
export const microseconds = async (count: number, work: () => unknown): Promise<number> =>
  1000 * percentile(await timesOf(count, work), 0.5);
