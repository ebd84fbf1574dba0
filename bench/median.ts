/** The median, and other percentiles, of what a bench measured. */

/** NaN for no values. */
export function medianOf(values: readonly number[]): number {
  return percentileOf(values, 1 / 2);
}

/** The value below which this part of them lies, from 0 to 1; NaN for no values. */
export function percentileOf(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;
}
