/**
 * How much something was used, hour by hour, in the height of a line of text.
 *
 * Invariant: for the eye only. What it shows is beside it, or in the activity, in words.
 */

/** Of the drawing, in its own units. */
const height = 10;
const slot = 3;
const barWidth = 2;

/** An hour with one use is seen beside one with hundreds. */
const least = 1.5;

export function Sparkline({ values }: { readonly values: readonly number[] }) {
  const top = Math.max(1, ...values);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${Math.max(1, values.length) * slot} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <rect class="ground" x={0} y={height - 0.5} width={values.length * slot} height={0.5} />
      {values.map((value, at) => {
        const size = value === 0 ? 0 : Math.max(least, (value / top) * height);
        return <rect key={at} class="use" x={at * slot} y={height - size} width={barWidth} height={size} />;
      })}
    </svg>
  );
}
