/**
 * What a measurement hands to the table: its figures, and whether its goal is met.
 *
 * Invariant: a ratio is the median of pairs that were measured one after the other, never of two separate runs.
 */
import { medianOf } from './median.ts';
import type { BenchWorld } from './world.ts';

/** One contender's figure, or that of a pair. */
export interface Row {
  readonly name: string;
  readonly what: string;
  readonly unit: string;
  readonly ours: number;
  /** The nearest program that people use instead; undefined where this machine has none. */
  readonly peer?: number | undefined;
  readonly peerName?: string;
  /** What Node can do at all. */
  readonly floor?: number | undefined;
  /** Ours divided by the floor, as the median of pairs. */
  readonly ratio?: number | undefined;
  readonly goal: Goal;
}

/** Bounds of the ratio to the floor, or of our own figure in the row's unit. */
export type Goal =
  | { readonly of: 'floor'; readonly atMost: number }
  | { readonly of: 'floor'; readonly atLeast: number }
  | { readonly of: 'itself'; readonly atMost: number };

export interface Measurement {
  readonly name: string;
  readonly measure: (stage: Stage) => Promise<Row>;
}

export interface Stage {
  /** Opened by the first measurement that needs it. */
  readonly world: () => Promise<BenchWorld>;
  /** Runs only to show that everything runs: few rounds, figures without meaning. */
  readonly isSmoke: boolean;
}

/** Undefined where the row lacks the figure that the goal is about. */
export function isMet({ goal, ours, ratio }: Row): boolean | undefined {
  const value = goal.of === 'floor' ? ratio : ours;
  if (value === undefined || Number.isNaN(value)) return undefined;
  return 'atMost' in goal ? value <= goal.atMost : value >= goal.atLeast;
}

export function goalText({ goal, unit }: Row): string {
  if (goal.of === 'itself') return `≤ ${goal.atMost} ${unit}`;
  return 'atMost' in goal ? `≤ ${goal.atMost} × floor` : `≥ ${goal.atLeast} × floor`;
}

type Figures<Name extends string> = Readonly<Record<Name, number>>;

/**
 * Measures the contenders in turn, A B A B, so that a machine that gets slower slows them all. Answers the median of
 * each, and the median of `ours` divided by `floor` within each turn.
 */
export async function inTurn<Name extends string>(
  turns: number,
  contenders: Readonly<Record<Name | 'ours' | 'floor', () => Promise<number>>>,
): Promise<Figures<Name | 'ours' | 'floor'> & { readonly ratio: number }> {
  const names = Object.keys(contenders) as (Name | 'ours' | 'floor')[];
  const turnsDone: Figures<Name | 'ours' | 'floor'>[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const figures: [string, number][] = [];
    for (const name of names) figures.push([name, await contenders[name]()]);
    turnsDone.push(Object.fromEntries(figures) as Figures<Name | 'ours' | 'floor'>);
  }
  const medians = names.map((name) => [name, medianOf(turnsDone.map((figures) => figures[name]))]);
  return {
    ...(Object.fromEntries(medians) as Figures<Name | 'ours' | 'floor'>),
    ratio: medianOf(turnsDone.map(({ ours, floor }) => ours / floor)),
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
