/**
 * What a measurement hands to the table: its figures, and whether its goals are met.
 *
 * Invariant: a ratio is the median of pairs that were measured one after the other, never of two separate runs.
 */
import { medianOf } from './median.ts';
import type { RefreshHome } from './refresh-home.ts';
import type { BenchWorld } from './world.ts';

export interface Row {
  readonly name: string;
  readonly what: string;
  readonly unit: string;
  readonly ours: number;
  /** What Node can do at all. */
  readonly floor?: number;
  /** Programs that people use instead, and a floor in C. NaN: this machine lacks it. */
  readonly peers?: Readonly<Record<string, number>>;
  /** Ours divided by the floor's or a peer's, by its name, as the median of pairs. */
  readonly ratios?: Readonly<Record<string, number>>;
  readonly goals: readonly Goal[];
}

/** Bounds of a ratio to the contender that `of` names, or of our own figure in the row's unit. */
export type Goal = { readonly of: string } & ({ readonly atMost: number } | { readonly atLeast: number });

/** A bound of our own figure, by no contender. */
export const itself = 'itself';

export interface Measurement {
  readonly name: string;
  /** The names of its rows, if they are several. */
  readonly rows?: readonly string[];
  readonly measure: (stage: Stage) => Promise<Row | readonly Row[]>;
}

export interface Stage {
  /** Opened by the first measurement that needs it. */
  readonly world: () => Promise<BenchWorld>;
  /** Grants whose access tokens live so many seconds. In the smoke form all measurements get the first one's. */
  readonly refreshHome: (count: number, lifetime: number) => Promise<RefreshHome>;
}

export type Verdict = 'met' | 'missed' | 'not known';

/** `not known` where the row lacks a figure that a goal is about. */
export function verdictOf({ goals, ours, ratios = {} }: Row): Verdict {
  const verdicts = goals.map((goal) => {
    const value = goal.of === itself ? ours : ratios[goal.of];
    if (value === undefined || Number.isNaN(value)) return 'not known';
    return ('atMost' in goal ? value <= goal.atMost : value >= goal.atLeast) ? 'met' : 'missed';
  });
  if (verdicts.includes('missed')) return 'missed';
  return verdicts.includes('not known') ? 'not known' : 'met';
}

export function goalText({ goals, unit }: Row): string {
  const texts = goals.map((goal) => {
    const bound = 'atMost' in goal ? `≤ ${goal.atMost}` : `≥ ${goal.atLeast}`;
    return goal.of === itself ? `${bound} ${unit}` : `${bound} × ${goal.of}`;
  });
  return texts.join('; ');
}

/** Milliseconds, microseconds or requests a second of one contender in one turn. */
export type Contenders = Readonly<Record<string, () => Promise<number>>>;

/**
 * Measures the contenders in turn, A B A B, so that a machine that gets slower slows them all. Answers the median of
 * each, and the median of `ours` divided by each other one within each turn.
 */
export async function inTurn(
  turns: number,
  { ours, floor, ...peers }: Contenders & Readonly<Record<'ours', () => Promise<number>>>,
): Promise<Pick<Row, 'ours' | 'floor' | 'peers' | 'ratios'>> {
  const contenders = Object.entries({ ours, ...(floor ? { floor } : {}), ...peers });
  const turnsDone: Record<string, number>[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const figures: Record<string, number> = {};
    for (const [name, measure] of contenders) figures[name] = await measure();
    turnsDone.push(figures);
  }
  const over = (value: (figures: Record<string, number>) => number): number => medianOf(turnsDone.map(value));
  const medianFor = (name: string): number => over((figures) => figures[name] ?? Number.NaN);
  const others = contenders.map(([name]) => name).filter((name) => name !== 'ours');
  return {
    ours: medianFor('ours'),
    ...(floor ? { floor: medianFor('floor') } : {}),
    peers: Object.fromEntries(Object.keys(peers).map((name) => [name, medianFor(name)])),
    ratios: Object.fromEntries(
      others.map((name) => [
        name,
        over((figures) => (figures['ours'] ?? Number.NaN) / (figures[name] ?? Number.NaN)),
      ]),
    ),
  };
}

/** The median time of one call, in milliseconds. The first tenth warms up. */
export async function timeOf(count: number, work: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const from = performance.now();
    await work();
    times.push(performance.now() - from);
  }
  return medianOf(times.slice(Math.ceil(times.length / 10)));
}
